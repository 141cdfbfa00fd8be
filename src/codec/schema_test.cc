#include "codec/schema.h"

#include "codec/golden_testing.h"
#include "codec/text_forms.h"
#include "core/input.h"
#include "core/reply.h"
#include "core/shapes.h"
#include "core/state.h"
#include "core/turn.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace reeve::codec {
namespace {

const std::array all{&shape_of<Input>(),
                     &shape_of<Command>(),
                     &shape_of<Reply>(),
                     &shape_of<Event>(),
                     &shape_of<Start>(),
                     &shape_of<Answer>(),
                     &shape_of<State>()};

// Old journals must stay readable: fields and alternatives are appended, and nothing else.
TEST(Schema, WhatWasOncePromisedStillHolds) {
  const std::string before = testing::read_golden("codec/schema.txt");
  ASSERT_FALSE(before.empty());
  for (const std::string& broken : broken_promises(before, schema_of(all))) {
    ADD_FAILURE() << "bytes written before can no longer be read: " << broken;
  }
}

TEST(Schema, IsTheOneInTheTree) { testing::expect_golden("codec/schema.txt", schema_of(all)); }

const std::string before =
    "Item (\n  queue u32,\n  state one of (free Free, held Held),\n  data bytes)\n"
    "Mood (calm, angry)\n"
    "Nothing ()\n"
    "Name {\n  project u32,\n  name text}\n";

std::string with(std::string_view from, std::string_view to) {
  std::string changed = before;
  changed.replace(changed.find(from), from.size(), to);
  return changed;
}

TEST(Schema, AppendingBreaksNothing) {
  EXPECT_EQ(broken_promises(before, before).size(), 0u);
  EXPECT_EQ(broken_promises(before, with("data bytes", "data bytes,\n  more u8")).size(), 0u);
  EXPECT_EQ(broken_promises(before, with("held Held", "held Held, lost Lost")).size(), 0u);
  EXPECT_EQ(broken_promises(before, with("angry", "angry, sad")).size(), 0u);
  EXPECT_EQ(broken_promises(before, with("Nothing ()", "Nothing (\n  more one of (a A))")).size(),
            0u);
  EXPECT_EQ(broken_promises(before, with("Item", "New (a u8)\nItem")).size(), 0u);
}

TEST(Schema, AllElseBreaksAPromise) {
  EXPECT_EQ(broken_promises(before, with("  queue u32,\n", "")).size(), 1u) << "removed";
  EXPECT_EQ(broken_promises(before, with(",\n  data bytes", "")).size(), 1u) << "removed, last";
  EXPECT_EQ(broken_promises(before, with("queue u32", "queue u64")).size(), 1u) << "retyped";
  EXPECT_EQ(broken_promises(before, with("queue u32", "line u32")).size(), 1u) << "renamed";
  EXPECT_EQ(broken_promises(before, with("queue u32", "new u8,\n  queue u32")).size(), 1u)
      << "put before";
  EXPECT_EQ(broken_promises(before, with("free Free, held Held", "held Held, free Free")).size(),
            1u)
      << "reordered";
  EXPECT_EQ(broken_promises(before, with("free Free, ", "")).size(), 1u) << "alternative removed";
  EXPECT_EQ(broken_promises(before, with("calm, angry", "angry, calm")).size(), 1u);
  EXPECT_EQ(broken_promises(before, with("name text", "name text,\n  more u8")).size(), 1u)
      << "closed";
  EXPECT_EQ(broken_promises(before, with("Mood (calm, angry)\n", "")).size(), 1u) << "gone";
}

// Calls `visit` for every shape below these.
void each_shape(const Shape& shape,
                std::set<const Shape*>& seen,
                const std::function<void(const Shape&)>& visit) {
  if (!seen.insert(&shape).second) return;
  visit(shape);
  if (shape.key) each_shape(*shape.key, seen, visit);
  if (shape.item) each_shape(*shape.item, seen, visit);
  for (const Field& field : shape.fields) each_shape(*field.shape, seen, visit);
  for (const Alternative& alternative : shape.alternatives) {
    each_shape(*alternative.shape, seen, visit);
  }
}

TEST(Schema, NamesThatJsonTellsThingsApartByAreDifferent) {
  std::set<const Shape*> seen;
  for (const Shape* root : all) {
    each_shape(*root, seen, [](const Shape& shape) {
      std::set<std::string> names;
      for (const Alternative& alternative : shape.alternatives) {
        EXPECT_TRUE(names.insert(snake_case(alternative.name)).second)
            << alternative.name << " of " << shape.name;
        EXPECT_NE(alternative.name, "sum") << "give it a name: core/shapes_detail.h";
      }
      for (const Field& field : shape.fields) EXPECT_FALSE(field.name.empty()) << shape.name;
    });
  }
  EXPECT_GT(seen.size(), 600u);
}

TEST(Schema, ThePartsOfAStateAreWhereItsMembersAre) {
  const State state;
  const std::span<const Field> fields = shape_of<State>().fields;
  std::size_t i = 0;
  const auto is_next = [&](const void* part, std::size_t size) {
    EXPECT_EQ(part, reinterpret_cast<const std::byte*>(&state) + fields[i].offset)
        << fields[i].name;
    EXPECT_EQ(size, fields[i].shape->size) << fields[i].name;
    ++i;
  };
  std::apply([&](const auto&... part) { (is_next(&part, sizeof part), ...); }, parts_of(state));
  EXPECT_EQ(i, fields.size());
}

}  // namespace
}  // namespace reeve::codec

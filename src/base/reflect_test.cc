#include "base/reflect.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace reeve::sample {

enum class Mood : std::uint8_t { Calm, VeryAngry };

struct ThingKind {};
using ThingId = Number<ThingKind>;
constexpr std::string_view prefix_of(ThingId) { return "thing-"; }

struct Empty {
  bool operator==(const Empty&) const = default;
};

struct Word {
  std::string text;

  bool operator==(const Word&) const = default;
};

// With holes between its fields, and some of every kind.
struct Everything {
  bool flag = false;
  std::uint64_t large = 7;
  std::int8_t small = 0;
  Mood mood = Mood::Calm;
  std::string text = "none";
  Bytes data;
  Duration delay{0};
  std::chrono::duration<std::int32_t> offset{0};
  Time time;
  Wall wall;
  ThingId id;
  std::optional<std::pair<char, std::uint32_t>> pair;
  Boxed<Word> boxed;
  std::vector<Word> words;
  std::vector<bool> bits;
  std::variant<Empty, Word, std::string> sum;
  PersistentMap<std::string, Word> map;
  PersistentSet<std::uint32_t> set;
  bool for_ = false;

  bool operator==(const Everything&) const = default;
};

namespace other {
struct Due {
  bool operator==(const Due&) const = default;
};
}  // namespace other
struct Due {
  bool operator==(const Due&) const = default;
};

}  // namespace reeve::sample

namespace reeve {
namespace {

using sample::Everything;

const Shape& everything = reflect::shape<Everything>;

const Field& field(std::string_view name) {
  for (const Field& candidate : everything.fields) {
    if (candidate.name == name) return candidate;
  }
  ADD_FAILURE() << "no field " << name;
  return everything.fields[0];
}

const void* address(const Everything& value, std::string_view name) {
  return reinterpret_cast<const std::byte*>(&value) + field(name).offset;
}

TEST(Reflect, FieldsHaveTheNamesOfTheCodeInItsOrder) {
  std::string names;
  for (const Field& each : everything.fields) names += std::string(each.name) + " ";
  EXPECT_EQ(names,
            "flag large small mood text data delay offset time wall id pair boxed words bits sum "
            "map set for ");
  EXPECT_EQ(everything.name, "sample::Everything");
  EXPECT_EQ(everything.size, sizeof(Everything));
}

TEST(Reflect, FieldsLieWhereTheCompilerPutThem) {
  const Everything value;
  EXPECT_EQ(address(value, "flag"), &value.flag);
  EXPECT_EQ(address(value, "large"), &value.large);
  EXPECT_EQ(address(value, "mood"), &value.mood);
  EXPECT_EQ(address(value, "text"), &value.text);
  EXPECT_EQ(address(value, "offset"), &value.offset);
  EXPECT_EQ(address(value, "pair"), &value.pair);
  EXPECT_EQ(address(value, "bits"), &value.bits);
  EXPECT_EQ(address(value, "sum"), &value.sum);
  EXPECT_EQ(address(value, "set"), &value.set);
  EXPECT_EQ(address(value, "for"), &value.for_);
}

TEST(Reflect, KindsAreThoseOfTheTypes) {
  EXPECT_EQ(field("flag").shape->kind, Kind::Bool);
  EXPECT_EQ(field("large").shape->kind, Kind::Unsigned);
  EXPECT_EQ(field("large").shape->width, 8);
  EXPECT_EQ(field("small").shape->kind, Kind::Signed);
  EXPECT_EQ(field("small").shape->width, 1);
  EXPECT_EQ(field("offset").shape->kind, Kind::Lapse);
  EXPECT_EQ(field("offset").shape->width, 4);
  EXPECT_EQ(field("offset").shape->unit, 1000u);
  EXPECT_EQ(field("time").shape->kind, Kind::EngineTime);
  EXPECT_EQ(field("wall").shape->kind, Kind::WallTime);
  EXPECT_EQ(field("boxed").shape->kind, Kind::Optional);
  EXPECT_EQ(field("bits").shape->kind, Kind::Bits);
  EXPECT_EQ(field("set").shape->kind, Kind::Set);
}

TEST(Reflect, EnumeratorsAreKnownByName) {
  const Shape& mood = *field("mood").shape;
  ASSERT_EQ(mood.enumerators.size(), 2u);
  EXPECT_EQ(mood.enumerators[0], "Calm");
  EXPECT_EQ(mood.enumerators[1], "VeryAngry");
  EXPECT_EQ(mood.name, "sample::Mood");
}

TEST(Reflect, AnIdIsANumberWithAPrefix) {
  EXPECT_EQ(field("id").shape->kind, Kind::Unsigned);
  EXPECT_EQ(field("id").shape->prefix, "thing-");
}

TEST(Reflect, AnOptionalIsFilledAndEmptied) {
  Everything value;
  const OptionalOperations& boxed = field("boxed").shape->operations.optional;
  EXPECT_EQ(boxed.get(&value.boxed), nullptr);
  static_cast<sample::Word*>(boxed.emplace(&value.boxed))->text = "here";
  EXPECT_EQ(value.boxed->text, "here");
  EXPECT_EQ(boxed.get(&value.boxed), value.boxed.get());
  boxed.reset(&value.boxed);
  EXPECT_FALSE(value.boxed);
}

TEST(Reflect, ABoxThatIsSharedIsNotWrittenThrough) {
  Everything value;
  value.boxed = Boxed(sample::Word{"old"});
  const Everything copy = value;
  static_cast<sample::Word*>(field("boxed").shape->operations.optional.emplace(&value.boxed))
      ->text = "new";
  EXPECT_EQ(copy.boxed->text, "old");
}

TEST(Reflect, AVariantTellsWhatItIsAndBecomesWhatItIsTold) {
  Everything value;
  const Shape& sum = *field("sum").shape;
  ASSERT_EQ(sum.alternatives.size(), 3u);
  EXPECT_EQ(sum.alternatives[1].name, "Word");
  EXPECT_EQ(sum.alternatives[2].name, "text");
  static_cast<sample::Word*>(sum.alternatives[1].emplace(&value.sum))->text = "w";
  EXPECT_EQ(value.sum, (std::variant<sample::Empty, sample::Word, std::string>(sample::Word{"w"})));
  EXPECT_EQ(sum.operations.variant.index(&value.sum), 1u);
  EXPECT_EQ(sum.operations.variant.get(&value.sum), &std::get<1>(value.sum));
}

TEST(Reflect, AlternativesOfOneNameAreToldApartByTheirNamespaces) {
  const Shape& sum = reflect::shape<std::variant<sample::Due, sample::other::Due, sample::Word>>;
  EXPECT_EQ(sum.alternatives[0].name, "sample::Due");
  EXPECT_EQ(sum.alternatives[1].name, "sample::other::Due");
  EXPECT_EQ(sum.alternatives[2].name, "Word");
}

class Words final : public EntrySource {
 public:
  explicit Words(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  bool next(void* key, void* value) override {
    if (next_ == keys_.size()) return false;
    *static_cast<std::string*>(key) = keys_[next_];
    if (value) static_cast<sample::Word*>(value)->text = keys_[next_] + "!";
    ++next_;
    return true;
  }

 private:
  std::vector<std::string> keys_;
  std::size_t next_ = 0;
};

TEST(Reflect, AMapIsLoadedInAscendingOrderOnly) {
  const MapOperations& map = field("map").shape->operations.map;
  Everything value;
  value.map.set("old", sample::Word{});

  Words good({"a", "b", "c"});
  EXPECT_EQ(map.load(&value.map, 3, good), Loaded::All);
  EXPECT_EQ(value.map.size(), 3u);
  EXPECT_EQ(value.map.find("c")->text, "c!");

  Words twice({"a", "b", "b"});
  EXPECT_EQ(map.load(&value.map, 3, twice), Loaded::OutOfOrder);
  Words short_of_one({"a", "b"});
  EXPECT_EQ(map.load(&value.map, 3, short_of_one), Loaded::Stopped);
}

TEST(Reflect, AnEntryIsAddedWhereItBelongsButNotTwice) {
  const MapOperations& map = field("map").shape->operations.map;
  Everything value;
  Words words({"b", "a", "b"});
  EXPECT_EQ(map.add(&value.map, words), Loaded::All);
  EXPECT_EQ(map.add(&value.map, words), Loaded::All);
  EXPECT_EQ(map.add(&value.map, words), Loaded::OutOfOrder);
  EXPECT_EQ(value.map.size(), 2u);
  EXPECT_EQ(value.map.begin()->first, "a");
}

}  // namespace
}  // namespace reeve

#include "core/shapes_detail.h"
#include "core/state.h"

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>

namespace reeve {
namespace {

// A state is walled and so no aggregate: its members are named here. The number of them is
// checked below, their order and places by a test.
#define REEVE_PART(part) \
  Field { #part, offsetof(State, part), &reflect::Reflected<decltype(State::part)>::shape }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
constexpr std::array parts{
    REEVE_PART(sequence),      REEVE_PART(last_number), REEVE_PART(last_token),
    REEVE_PART(now),           REEVE_PART(leases_from), REEVE_PART(locks),
    REEVE_PART(semaphores),    REEVE_PART(grants),      REEVE_PART(custody),
    REEVE_PART(sessions),      REEVE_PART(queues),      REEVE_PART(tasks),
    REEVE_PART(pipelines),     REEVE_PART(dispatches),  REEVE_PART(workers),
    REEVE_PART(crons),         REEVE_PART(board),       REEVE_PART(decisions),
    REEVE_PART(mail),          REEVE_PART(definitions), REEVE_PART(projects),
    REEVE_PART(subscriptions), REEVE_PART(keys),        REEVE_PART(timers),
    REEVE_PART(chores),        REEVE_PART(outbox),
};
#pragma GCC diagnostic pop
#undef REEVE_PART

static_assert(parts.size() == std::tuple_size_v<decltype(parts_of(std::declval<const State&>()))>);

constexpr Shape state_shape{
    .kind = Kind::Struct, .size = sizeof(State), .name = "State", .fields = parts};

}  // namespace

template <>
const Shape& shape_of<State>() {
  return state_shape;
}

}  // namespace reeve

#include "core/state.h"

#include "core/reply.h"

namespace reeve {

State::State() = default;
State::State(const State&) = default;
State::State(State&&) noexcept = default;
State& State::operator=(const State&) = default;
State& State::operator=(State&&) noexcept = default;
State::~State() = default;

bool State::operator==(const State& other) const { return parts_of(*this) == parts_of(other); }

}  // namespace reeve

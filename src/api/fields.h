#pragma once

#include "api/rpc.h"
#include "core/definition.h"

#include <string_view>

// What the methods about runbooks and their runs have in common.
namespace reeve::api {

// An object of texts, in its order. What is no text is kept as its JSON; null is left out.
definition::Map read_map(Params& params, std::string_view field, std::size_t most = 1000);

// A field whose name somebody else chose.
JsonWriter& user_key(JsonWriter& json, std::string_view name);
void show_map(Tell& tell, std::string_view field, const definition::Map& map);

// `runbook`: the hash of the definitions that the client has read. False: the project's are others,
// the client was told to hand them over (RUNBOOK_UNKNOWN), and the request is over. To be asked
// when all fields were read.
bool has_runbook(Asking& ask, std::string_view hash);

// The hash of the project's definitions, or none.
std::string current_runbook(const Asking& ask);

// Done, and there is no more to say than its name.
void tell_done(Tell& tell, const Reply& reply);

}  // namespace reeve::api

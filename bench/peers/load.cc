// One load for every peer: so many connections, each with one request under way (or, with --window,
// several), on one thread and epoll. Prints one line of JSON.
//
//     peers_load --peer redis --socket PATH --workload cycle --clients 16 --seconds 2
//     peers_load --peer sqlite --file PATH ...
//     peers_load --machine DIR          what the disk and a socket can do at all

#include "bench/peers/machine.h"
#include "bench/peers/measured.h"
#include "bench/peers/speaker.h"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <span>
#include <string>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace peers;
using Clock = std::chrono::steady_clock;

[[noreturn]] void die(std::string_view what) {
  fmt::print(stderr, "peers_load: {}: {}\n", what, std::strerror(errno));
  std::exit(1);
}

struct Options {
  std::string peer;
  std::string socket;
  std::string port;  // instead of a socket: loopback
  std::string file;
  std::string workload = "push";
  std::string machine;
  std::uint32_t clients = 1;
  std::uint32_t window = 1;
  std::uint64_t operations = 0;  // stop after so many; 0: by time
  double seconds = 2;
  std::size_t bytes = 200;
};

Options parse(std::span<char*> words) {
  Options options;
  std::map<std::string, std::string> given;
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) given[words[i]] = words[i + 1];
  const auto take = [&given](const char* name, std::string fallback) {
    const auto found = given.find(name);
    if (found == given.end()) return fallback;
    std::string value = found->second;
    given.erase(found);
    return value;
  };
  options.peer = take("--peer", "");
  options.socket = take("--socket", "");
  options.port = take("--port", "");
  options.file = take("--file", "");
  options.workload = take("--workload", "push");
  options.machine = take("--machine", "");
  options.clients = static_cast<std::uint32_t>(std::stoul(take("--clients", "1")));
  options.window = static_cast<std::uint32_t>(std::stoul(take("--window", "1")));
  options.operations = std::stoull(take("--operations", "0"));
  options.seconds = std::stod(take("--seconds", "2"));
  options.bytes = std::stoul(take("--bytes", "200"));
  if (!given.empty() || words.size() % 2 == 0) {
    fmt::print(stderr, "peers_load: see the head of bench/peers/load.cc\n");
    std::exit(2);
  }
  return options;
}

std::unique_ptr<Speaker> make_speaker(const Options& options, std::uint32_t number) {
  const std::string payload(options.bytes, 'x');
  if (options.peer == "reeve") return make_reeve(number, payload);
  if (options.peer == "beanstalkd") return make_beanstalk(number, payload);
  if (options.peer == "redis") return make_redis(number, payload);
  if (options.peer == "redis-equal") return make_redis_equal(number, payload);
  if (options.peer == "postgres") return make_postgres(number, payload);
  fmt::print(stderr, "peers_load: unknown peer {}\n", options.peer);
  std::exit(2);
}

std::vector<Verb> verbs_of(const std::string& workload) {
  if (workload == "push") return {Verb::Push};
  if (workload == "drain") return {Verb::Take, Verb::Complete};
  if (workload == "cycle") return {Verb::Push, Verb::Take, Verb::Complete};
  if (workload == "lock") return {Verb::Acquire, Verb::Release};
  fmt::print(stderr, "peers_load: unknown workload {}\n", workload);
  std::exit(2);
}

int connect_to(const Options& options) {
  if (!options.port.empty()) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(options.port)));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) die("connect");
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
  }
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options.socket.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    die(options.socket);
  }
  std::memcpy(address.sun_path, options.socket.data(), options.socket.size());
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    die(options.socket);
  }
  return fd;
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) die("send");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// A closed loop: the next request when the last is answered.
struct Client {
  int fd = -1;
  std::unique_ptr<Speaker> speaker;
  std::string in;
  std::size_t step = 0;                 // of the workload
  std::deque<Clock::time_point> began;  // of the operations under way
};

class Load {
 public:
  explicit Load(const Options& options) : options_(options), verbs_(verbs_of(options.workload)) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    clients_.resize(options.clients);
    std::string out;
    for (std::uint32_t number = 0; number < options.clients; ++number) {
      Client& client = clients_[number];
      client.fd = connect_to(options);
      client.speaker = make_speaker(options, number);
      greet(client);
      epoll_event event{.events = EPOLLIN, .data = {.u32 = number}};
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, client.fd, &event);
    }
  }

  Measured run() {
    const Clock::time_point start = Clock::now();
    const auto limit = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(options_.seconds));
    for (Client& client : clients_) {
      for (std::uint32_t i = 0; i < options_.window; ++i) begin(client);
      flush(client);
    }
    std::vector<epoll_event> events(1024);
    while (under_way_ > 0) {
      const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      now_ = Clock::now();
      if (!over_ && options_.operations == 0 && now_ - start >= limit) finish(start);
      for (int i = 0; i < count; ++i)
        serve(clients_[events[static_cast<std::size_t>(i)].data.u32], start);
    }
    return std::move(measured_);
  }

 private:
  void greet(Client& client) {
    std::string out;
    client.speaker->ask(Verb::Hello, out);
    send_all(client.fd, out);
    while (true) {
      receive(client);
      const std::optional<Answer> answer = client.speaker->hear(Verb::Hello, client.in);
      if (!answer) continue;
      if (!answer->ok) {
        fmt::print(stderr, "peers_load: refused: {}\n", client.in);
        std::exit(1);
      }
      client.in.erase(0, answer->bytes);
      return;
    }
  }

  void receive(Client& client) {
    char bytes[65536];
    const ssize_t got = ::recv(client.fd, bytes, sizeof(bytes), 0);
    if (got <= 0) die("the peer closed a connection");
    client.in.append(bytes, static_cast<std::size_t>(got));
  }

  void begin(Client& client) {
    client.began.push_back(Clock::now());
    client.speaker->ask(verbs_.front(), out_);
    ++under_way_;
  }

  void flush(Client& client) {
    if (out_.empty()) return;
    send_all(client.fd, out_);
    out_.clear();
  }

  void serve(Client& client, Clock::time_point start) {
    receive(client);
    std::size_t used = 0;
    while (!client.began.empty()) {
      const std::optional<Answer> answer =
          client.speaker->hear(verbs_[client.step], std::string_view(client.in).substr(used));
      if (!answer) break;
      used += answer->bytes;
      if (!answer->ok && !over_) ++measured_.refused;
      if (++client.step < verbs_.size() && answer->ok) {
        client.speaker->ask(verbs_[client.step], out_);
        continue;
      }
      client.step = 0;
      --under_way_;
      if (!over_) {
        ++measured_.operations;
        measured_.latencies.push_back(
            std::chrono::duration<float, std::micro>(now_ - client.began.front()).count());
      }
      client.began.pop_front();
      if (!over_ && options_.operations != 0 && measured_.operations >= options_.operations) {
        finish(start);
      }
      const bool enough =
          options_.operations != 0 && measured_.operations + under_way_ >= options_.operations;
      if (!over_ && !enough) begin(client);
    }
    client.in.erase(0, used);
    flush(client);
  }

  void finish(Clock::time_point start) {
    over_ = true;
    measured_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }

  const Options& options_;
  std::vector<Verb> verbs_;
  int epoll_ = -1;
  std::vector<Client> clients_;
  std::string out_;
  std::uint64_t under_way_ = 0;
  bool over_ = false;
  Clock::time_point now_;
  Measured measured_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(std::span(argv, static_cast<std::size_t>(argc)));
  if (!options.machine.empty()) {
    const MachineLimits limits = measure_machine(options.machine);
    fmt::print("{{\"direct_us\":{:.1f},\"append_fdatasync_us\":{:.1f},\"round_trip_us\":{:.1f}}}\n",
               limits.direct_us,
               limits.append_us,
               limits.round_trip_us);
    return 0;
  }

  Measured measured = options.peer == "sqlite" ? run_sqlite({options.file,
                                                             options.workload,
                                                             options.clients,
                                                             options.seconds,
                                                             std::string(options.bytes, 'x')})
                                               : Load(options).run();
  fmt::print(
      "{{\"rate\":{:.1f},\"operations\":{},\"refused\":{},\"seconds\":{:.4f},\"p50\":{:.1f},"
      "\"p99\":{:.1f},"
      "\"p999\":{:.1f}}}\n",
      measured.rate(),
      measured.operations,
      measured.refused,
      measured.seconds,
      measured.latency(0.5),
      measured.latency(0.99),
      measured.latency(0.999));
}

#include "adapters/nursery.h"

#include "adapters/process.h"
#include "adapters/run_directory.h"
#include "adapters/spawn_self.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace reeve::adapters {
namespace {

constexpr std::size_t longest_message = 8192;

// One packet each way: what is wanted, with the number and the folder behind it; and how it went,
// with the pidfd beside it or the error behind it.
struct Wish {
  enum class What : std::uint64_t { Start, Remove };
  What what = What::Start;
  std::uint64_t number = 0;
};
struct Word {
  std::uint64_t number = 0;
  std::int64_t pid = -1;
  std::uint64_t start_time = 0;
};

template <class Head>
std::string packet(const Head& head, std::string_view text) {
  std::string message(sizeof head, '\0');
  std::memcpy(message.data(), &head, sizeof head);
  return message.append(text);
}

void reap() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

// With the descriptor, if there is one.
void send_word(int socket, std::string message, int pidfd) {
  iovec part{message.data(), message.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (pidfd >= 0) {
    header.msg_control = space.data();
    header.msg_controllen = space.size();
    cmsghdr* const control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(control), &pidfd, sizeof pidfd);
  }
  // A word that is not heard is waited for for ever: without the descriptor, if that is what does
  // not go, and again, if there is no memory now.
  for (int times = 0; times < 1000 && sendmsg(socket, &header, MSG_NOSIGNAL) < 0; ++times) {
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return;
    header.msg_control = nullptr;
    header.msg_controllen = 0;
    usleep(1000);
  }
}

void start_one(int socket, std::uint64_t number, const std::string& folder) {
  const Result<Spawned> hold = spawn_self({"hold", folder});
  if (!hold) return send_word(socket, packet(Word{number}, hold.error().message), -1);
  const std::optional<ProcessStatus> status = status_of(hold->pid);
  send_word(socket,
            packet(Word{number, hold->pid, status ? status->start_time : 0}, ""),
            hold->pidfd.get());
}

}  // namespace

int serve_nursery(int socket) {
  // Its owner's end is its end, and nothing else is.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
  const timeval now_and_then{1, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &now_and_then, sizeof now_and_then);
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  std::string message(longest_message, '\0');
  while (true) {
    const ssize_t size = recv(socket, message.data(), message.size(), 0);
    const int error = errno;  // reaping has errors of its own
    reap();
    if (size < 0 && (error == EINTR || error == EAGAIN)) continue;
    if (size <= 0) return 0;
    if (static_cast<std::size_t>(size) < sizeof(Wish)) continue;
    Wish wish;
    std::memcpy(&wish, message.data(), sizeof wish);
    const std::string folder =
        message.substr(sizeof wish, static_cast<std::size_t>(size) - sizeof wish);
    switch (wish.what) {
      case Wish::What::Start:
        start_one(socket, wish.number, folder);
        break;
      case Wish::What::Remove:
        RunDirectory(folder).remove();
        break;
    }
  }
}

Nursery::Nursery() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  const Result<Spawned> spawned = spawn_self({"hold", "--nursery"}, {.third = theirs.get()});
  if (!spawned) return;
  pid_ = spawned->pid;
  socket_ = std::move(ours);
}

Nursery::~Nursery() {
  for (int times = 0; times < 1000 && socket_ && flush(); ++times) usleep(1000);
  socket_.reset();
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

void Nursery::start(std::uint64_t number, const std::string& folder) {
  send(packet(Wish{Wish::What::Start, number}, folder));
}

void Nursery::remove(const std::string& folder) {
  send(packet(Wish{Wish::What::Remove, 0}, folder));
}

void Nursery::send(std::string message) {
  unsent_.push_back(std::move(message));
  flush();
}

bool Nursery::flush() {
  while (socket_ && !unsent_.empty()) {
    const std::string& message = unsent_.front();
    const ssize_t size =
        ::send(socket_.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) break;
    unsent_.pop_front();
  }
  return !unsent_.empty();
}

std::optional<Nursery::Born> Nursery::next() {
  if (!socket_) return std::nullopt;
  std::array<char, longest_message> bytes{};
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = space.data();
  header.msg_controllen = space.size();
  const ssize_t size = recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  Born born;
  if (const cmsghdr* control = size > 0 ? CMSG_FIRSTHDR(&header) : nullptr) {
    int pidfd = -1;
    std::memcpy(&pidfd, CMSG_DATA(control), sizeof pidfd);
    born.pidfd = Descriptor(pidfd);
  }
  if (size < static_cast<ssize_t>(sizeof(Word))) {  // it is gone
    socket_.reset();
    unsent_.clear();
    return std::nullopt;
  }
  Word word;
  std::memcpy(&word, bytes.data(), sizeof word);
  born.number = word.number;
  born.pid = static_cast<pid_t>(word.pid);
  born.start_time = word.start_time;
  born.error.assign(bytes.data() + sizeof word, static_cast<std::size_t>(size) - sizeof word);
  return born;
}

}  // namespace reeve::adapters

#include "mplus/cli/interrupt.h"

#include <csignal>

namespace mplus::cli {
namespace {

std::atomic<bool> interrupt_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch lock-free atomics only");

struct sigaction previous_int, previous_term;

extern "C" void on_interrupt(int signal) {
  if (!interrupt_requested.exchange(true)) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

Interrupt::Interrupt() {
  interrupt_requested = false;
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: waiting for input ends as well
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &previous_int);
  sigaction(SIGTERM, &action, &previous_term);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &previous_int, nullptr);
  sigaction(SIGTERM, &previous_term, nullptr);
}

const std::atomic<bool>& Interrupt::flag() const { return interrupt_requested; }

void Interrupt::clear() { interrupt_requested = false; }

}  // namespace mplus::cli

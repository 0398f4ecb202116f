#include "runtime/client/am_conversation.h"

#include <utility>

#include "runtime/rpc/am_connection.h"

namespace tony {
namespace {

constexpr Duration kCallLimit{5000};  // time limit of each short call
// The time limit of a Watch call, below the 60 s of tony.thrift. The exact value does not matter, because the call is
// repeated after each answer.
constexpr Duration kWatchLimit{30000};

}  // namespace

// Sends the calls one after another: each call is sent after the answer to the previous call. The sink may destroy the
// conversation during a callback, and no member may be used afterwards.
class AmConversation::Talk : public std::enable_shared_from_this<Talk> {
 public:
  Talk(EventLoop& loop, Opening opening, Sink sink)
      : opening_(std::move(opening)),
        sink_(std::move(sink)),
        am_(MakeAmConnection(loop, opening_.folder, kCallLimit, opening_.tls)) {
    am_->Use(opening_.am);
  }

  void Start() {
    if (!opening_.attach) return AskForKill();
    am_->Attach(opening_.token, *opening_.attach, WhenAnswered<AttachedAnswer>([this](const AttachedAnswer& answer) {
                  if (Tell(sink_.on_attached, answer.attached)) AskForKill();
                }));
  }
  void SendKill(const KillRequest& kill) {
    am_->Kill(opening_.token, kill, WhenAnswered<KilledAnswer>([this](const KilledAnswer& answer) {
                if (Tell(sink_.on_kill, answer.answer)) (void)Tell(sink_.on_status, answer.status);
              }));
  }
  void Stop() {
    stopped_ = true;
    am_.reset();
  }

 private:
  template <class T>
  OnAnswer<T> WhenAnswered(std::function<void(const T&)> go_on) {
    return [this, go_on = std::move(go_on)](const Answer<T>& answer) {
      if (const auto* value = std::get_if<T>(&answer)) return go_on(*value);
      const auto* refusal = std::get_if<Refusal>(&answer);
      Lose(refusal ? nullptr : std::get_if<Disconnected>(&answer),
           refusal ? ErrorOf(*refusal) : ErrorOf(std::get<Disconnected>(answer)));
    };
  }

  void Lose(const Disconnected* disconnected, const Error& error) {
    (void)Tell(disconnected && disconnected->untrusted_listener ? sink_.on_mistrust : sink_.on_lost, error);
  }

  void AskForKill() {
    if (!opening_.kill) return Look();
    am_->Kill(opening_.token, *opening_.kill, WhenAnswered<KilledAnswer>([this](const KilledAnswer& answer) {
                if (Tell(sink_.on_kill, answer.answer)) Look();
              }));
  }

  // Begins to watch the job. Only the first call names the watcher, because the AM treats the watcher that was named
  // last as the newest watcher. Later calls only continue the watching.
  void Look() {
    const auto begin = WhenAnswered<JobStatus>([this](const JobStatus& status) { Take(status, /*is_news=*/true); });
    if (opening_.watcher.value.empty()) return am_->GetStatus(opening_.token, begin);
    am_->Watch(opening_.token, 0, Duration(0), opening_.watcher, begin);
  }

  void Take(const JobStatus& status, bool is_news) {
    seq_ = status.seq;
    unnumbered_ = UnnumberedNewsOf(status);
    const bool ended = status.verdict.has_value();
    // The next Watch is sent before the sink is called, because the sink may block, for example while its output is not
    // read.
    if (!ended) Watch();
    if (is_news || ended) (void)Tell(sink_.on_status, status);
  }

  void Watch() {
    const bool asks_usage = opening_.usage_interval > Duration(0);
    am_->Watch(opening_.token, seq_, asks_usage ? opening_.usage_interval : kWatchLimit, {},
               WhenAnswered<JobStatus>([this, asks_usage](const JobStatus& status) {
                 const bool changed = status.seq != seq_ || UnnumberedNewsOf(status) != unnumbered_;
                 Take(status, changed || asks_usage);
               }));
  }

  // Calls `fn`, and returns whether the conversation continues.
  template <class Word>
  bool Tell(const std::function<void(Word)>& fn, const std::decay_t<Word>& word) {
    const auto self = shared_from_this();
    fn(word);
    return !stopped_;
  }

  const Opening opening_;
  const Sink sink_;
  bool stopped_ = false;
  std::unique_ptr<AmConnection> am_;
  // Parts of the newest status. A later status is reported if one of these parts differs.
  int64_t seq_ = 0;
  UnnumberedNews unnumbered_;
};

AmConversation::AmConversation(EventLoop& loop, Opening opening, Sink sink)
    : talk_(std::make_shared<Talk>(loop, std::move(opening), std::move(sink))) {
  talk_->Start();
}

AmConversation::~AmConversation() { talk_->Stop(); }

void AmConversation::SendKill(const KillRequest& kill) { talk_->SendKill(kill); }

}  // namespace tony

#include "runtime/job/sweep.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"
#include "runtime/job/outputs.h"

namespace tony {
namespace {

std::optional<double> NumberIn(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
  return is_number ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<double> MetricOf(const Outcome& trial, const std::string& name) {
  if (name.empty() || trial.outputs.empty()) return std::nullopt;
  const auto outputs = ParseOutputs(trial.outputs);
  if (!outputs.ok()) return std::nullopt;
  const auto member = std::ranges::find(outputs->members, name, &OutputMember::name);
  return member == outputs->members.end() || !member->text ? std::nullopt : NumberIn(*member->text);
}

std::vector<TrialRow> TrialsOf(const Sweep& sweep, const JobStatus& status, std::vector<TrialRow> earlier) {
  std::vector<TrialRow> rows = std::move(earlier);
  for (const TaskStatus& task : status.tasks) {
    if (task.id.role != kTrialRole || static_cast<size_t>(task.id.index) >= sweep.trials.size()) continue;
    TrialRow row{
        .task = task.id, .parameters = sweep.trials[static_cast<size_t>(task.id.index)], .state = StateWord(task)};
    if (task.outcome) {
      row.outputs = task.outcome->outputs;
      row.metric = MetricOf(*task.outcome, sweep.metric);
    }
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, [&](const TrialRow& a, const TrialRow& b) {
    if (!a.metric || !b.metric) return a.metric.has_value() > b.metric.has_value();
    return sweep.maximize ? *a.metric > *b.metric : *a.metric < *b.metric;
  });
  return rows;
}

std::string SweepJson(const Sweep& sweep, int parallel, const std::vector<TrialRow>& trials) {
  std::vector<RawJson> rows;
  for (const TrialRow& trial : trials) {
    rows.push_back({WriteJsonObject([&](JsonWriter& io) {
      io.Field("task", ToString(trial.task));
      if (trial.job) io.Field("job", *trial.job);
      io.Field("parameters", RawJson{trial.parameters});
      io.Field("state", trial.state);
      if (!trial.outputs.empty()) io.Field("outputs", RawJson{trial.outputs});
    })});
  }
  return WriteJsonObject([&](JsonWriter& io) {
    io.IfSet("metric", sweep.metric);
    if (!sweep.metric.empty()) io.Field("goal", std::string(sweep.maximize ? "max" : "min"));
    io.Field("parallel", parallel);
    io.Field("trials", rows);
    if (!trials.empty() && trials.front().metric) io.Field("best", ToString(trials.front().task));
  });
}

}  // namespace tony

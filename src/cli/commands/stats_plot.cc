#include "cli/commands/stats_plot.h"

#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

namespace reeve::cli::stats {
namespace {

constexpr double page_width = 880;
constexpr double left = 70;
constexpr double right = 860;
constexpr double panel_height = 190;
constexpr std::string_view failed_color = "#d0575f";

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char letter : printable(text)) {
    switch (letter) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

// 1, 2 or 5 times a power of ten, at least this much.
double round_up(double value) {
  if (value <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 5.0, 10.0}) {
    if (value <= step * power) return step * power;
  }
  return 10 * power;
}

std::string amount(double value) {
  if (value >= 1000) return fmt::format("{:g}k", value / 1000);
  if (value == std::floor(value)) return fmt::format("{:.0f}", value);
  return fmt::format("{:.2g}", value);
}

class Picture {
 public:
  explicit Picture(const Stats& stats) : stats_(stats) {}

  std::string draw() {
    title();
    double top = 96;
    constexpr double panel = panel_height + 70;
    throughput(top,
               {.heading = "Queue items a minute",
                .minutes = 1,
                .curves = {{&Bucket::pushed, "#5e81ac", "pushed"},
                           {&Bucket::completed, "#2f9e73", "completed"}},
                .failed = &Bucket::failed});
    top += panel;
    // Who has no board misses nothing.
    if (!stats_.board.empty()) {
      throughput(top,
                 {.heading = "Tasks of the board finished, an hour",
                  .minutes = 60,
                  .curves = {{&Bucket::tasks_skipped, "#9aa3b2", "skipped"},
                             {&Bucket::tasks_review, "#5e81ac", "review"},
                             {&Bucket::tasks_completed, "#2f9e73", "completed"}},
                  .failed = &Bucket::tasks_failed});
      top += panel;
    }
    waits(top);
    const double height = failures(top + panel);
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" "
               "viewBox=\"0 0 {0} {1:.0f}\" font-family=\"system-ui, -apple-system, 'Segoe UI', "
               "'DejaVu Sans', sans-serif\" font-size=\"12\" fill=\"#3b4252\">\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
               page_width,
               height) +
           body_ + "</svg>\n";
  }

 private:
  static double x_of(double share) { return left + share * (right - left); }

  void text(double x,
            double y,
            std::string_view words,
            std::string_view style = "",
            std::string_view anchor = "start") {
    body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n",
                         x,
                         y,
                         anchor,
                         style,
                         escaped(words));
  }
  void line(double x1, double y1, double x2, double y2, std::string_view style) {
    body_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n",
                         x1,
                         y1,
                         x2,
                         y2,
                         style);
  }

  void title() {
    text(left - 50,
         36,
         fmt::format("Reeve: {}", stats_.project),
         "font-size=\"20\" fill=\"#2e3440\" font-weight=\"600\"");
    text(left - 50,
         56,
         fmt::format("{} {} to {} {}, UTC",
                     format_moment(stats_.from).substr(0, 10),
                     format_moment(stats_.from).substr(11, 5),
                     format_moment(stats_.until).substr(0, 10),
                     format_moment(stats_.until).substr(11, 5)),
         "fill=\"#6b7486\"");
  }

  // The frame of a panel with its moments below.
  void frame(double top, std::string_view heading) {
    text(left - 50, top - 12, heading, "font-size=\"14\" font-weight=\"600\" fill=\"#2e3440\"");
    const double bottom = top + panel_height;
    constexpr int marks = 6;
    const bool days = stats_.until - stats_.from > std::int64_t{2} * 86'400'000;
    for (int i = 0; i <= marks; ++i) {
      const double x = x_of(static_cast<double>(i) / marks);
      const std::string moment =
          format_moment(stats_.from + (stats_.until - stats_.from) * i / marks);
      const bool seconds = stats_.until - stats_.from < 600'000;
      const std::string shown = days      ? moment.substr(5, 5)
                                : seconds ? moment.substr(11, 8)
                                          : moment.substr(11, 5);
      line(x, bottom, x, bottom + 4, "stroke=\"#aab2c0\"");
      text(x, bottom + 18, shown, "fill=\"#6b7486\"", i == marks ? "end" : "middle");
    }
    line(left, bottom, right, bottom, "stroke=\"#aab2c0\"");
  }

  void grid(double y, std::string_view label) {
    line(left, y, right, y, "stroke=\"#e5e9f0\"");
    text(left - 8, y + 4, label, "fill=\"#6b7486\"", "end");
  }

  struct Key {
    std::string_view color;
    std::string_view label;
  };
  void legend(double top, const std::vector<Key>& keys) {
    double x = right;
    for (auto key = std::rbegin(keys); key != std::rend(keys); ++key) {
      x -= 7.2 * static_cast<double>(key->label.size());
      text(x, top - 12, key->label);
      body_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"4\" rx=\"2\" fill=\"{}\"/>\n",
          x - 17,
          top - 18,
          key->color);
      x -= 34;
    }
  }

  // A line through the middle of every part that has a value; a single one is a dot.
  void curve(const std::function<std::optional<double>(const Bucket&)>& y, std::string_view color) {
    std::string path;
    bool on = false;
    std::size_t length = 0;
    double last_x = 0;
    double last_y = 0;
    const auto dot = [&] {
      if (length != 1) return;
      body_ += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n", last_x, last_y, color);
    };
    for (std::size_t i = 0; i < stats_.buckets.size(); ++i) {
      const std::optional<double> value = y(stats_.buckets[i]);
      if (!value) {
        dot();
        on = false;
        length = 0;
        continue;
      }
      last_x = x_of((static_cast<double>(i) + 0.5) / static_cast<double>(stats_.buckets.size()));
      last_y = *value;
      path += fmt::format("{}{:.1f} {:.1f}", on ? " L" : " M", last_x, last_y);
      on = true;
      ++length;
    }
    dot();
    if (path.empty()) return;
    body_ += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" "
        "stroke-linejoin=\"round\" stroke-linecap=\"round\"/>\n",
        path.substr(1),
        color);
  }

  using Count = std::int64_t Bucket::*;
  struct Curve {
    Count count;
    std::string_view color;
    std::string_view label;
  };
  // How many of each there were in so many minutes.
  struct Flow {
    std::string_view heading;
    double minutes = 1;
    std::vector<Curve> curves;
    Count failed;
  };

  void throughput(double top, const Flow& flow) {
    const double bottom = top + panel_height;
    // Of how many times that long a part is.
    const double times = stats_.minutes() / static_cast<double>(buckets) / flow.minutes;
    double most = 0;
    std::vector<Key> keys;
    std::vector<Count> counts{flow.failed};
    for (const Curve& each : flow.curves) {
      keys.push_back({each.color, each.label});
      counts.push_back(each.count);
    }
    keys.push_back({failed_color, "failed"});
    for (const Bucket& bucket : stats_.buckets) {
      for (const Count count : counts) {
        most = std::max(most, static_cast<double>(bucket.*count) / times);
      }
    }
    most = round_up(most);
    for (int i = 0; i <= 4; ++i) {
      grid(bottom - panel_height * i / 4, amount(most * i / 4));
    }
    frame(top, flow.heading);
    legend(top, keys);
    const auto height = [&](std::int64_t count) {
      return bottom - static_cast<double>(count) / times / most * panel_height;
    };
    // Failures are few: bars are seen where a line would hide behind the others.
    const double width = (right - left) / static_cast<double>(buckets);
    for (std::size_t i = 0; i < stats_.buckets.size(); ++i) {
      const std::int64_t failed = stats_.buckets[i].*flow.failed;
      if (failed == 0) continue;
      const double y = std::min(height(failed), bottom - 2);
      body_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
          "fill-opacity=\"0.75\"/>\n",
          left + width * static_cast<double>(i) + width * 0.2,
          y,
          width * 0.6,
          bottom - y,
          failed_color);
    }
    for (const Curve& each : flow.curves) {
      curve([&](const Bucket& bucket) { return std::optional(height(bucket.*each.count)); },
            each.color);
    }
  }

  // From a millisecond on, by powers of ten.
  void waits(double top) {
    const double bottom = top + panel_height;
    std::int64_t most = 1000;
    for (const Bucket& bucket : stats_.buckets) {
      most = std::max(most, bucket.wait_p99.value_or(0));
    }
    const double decades = std::ceil(std::log10(static_cast<double>(most)));
    const auto height = [&](const std::optional<std::int64_t>& value) -> std::optional<double> {
      if (!value) return std::nullopt;
      const double log = std::log10(static_cast<double>(std::max<std::int64_t>(1, *value)));
      return bottom - log / decades * panel_height;
    };
    for (int i = 0; i <= static_cast<int>(decades); ++i) {
      grid(bottom - panel_height * i / decades,
           rough_duration(static_cast<std::int64_t>(std::pow(10, i))));
    }
    frame(top, "Waiting, for items to be taken and for locks and slots");
    legend(top, {{"#88c0d0", "p50"}, {"#b48ead", "p99"}});
    curve([&](const Bucket& bucket) { return height(bucket.wait_p50); }, "#88c0d0");
    curve([&](const Bucket& bucket) { return height(bucket.wait_p99); }, "#b48ead");
  }

  // Bars, the longest first; the height of the whole picture.
  double failures(double top) {
    text(left - 50,
         top - 12,
         "What failed, by cause",
         "font-size=\"14\" font-weight=\"600\" fill=\"#2e3440\"");
    constexpr double row = 26;
    constexpr std::size_t shown = 8;
    constexpr double bars = 470;
    double y = top + 6;
    if (stats_.failures.empty()) {
      text(left - 50, y + 10, "nothing", "fill=\"#6b7486\"");
      return y + 40;
    }
    const auto most = static_cast<double>(stats_.failures.front().count);
    for (std::size_t i = 0; i < std::min(shown, stats_.failures.size()); ++i, y += row) {
      const FailureLine& failure = stats_.failures[i];
      text(left - 50, y + 13, fitted(failure.what + ": " + failure.cause, 62));
      const double width =
          std::max(2.0, static_cast<double>(failure.count) / most * (right - bars - 50));
      body_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"16\" rx=\"2\" "
          "fill=\"#d0575f\" fill-opacity=\"0.85\"/>\n",
          bars,
          y,
          width);
      text(bars + width + 6, y + 13, fmt::format("{}", failure.count));
    }
    return y + 24;
  }

  const Stats& stats_;
  std::string body_;
};

}  // namespace

std::string plot(const Stats& stats) { return Picture(stats).draw(); }

}  // namespace reeve::cli::stats

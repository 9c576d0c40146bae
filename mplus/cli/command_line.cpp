#include "mplus/cli/command_line.h"

#include <memory>

#include "mplus/cli/options.h"

namespace mplus::cli {
namespace {

constexpr char kMark = '\x01';

class HelpText : public CLI::Formatter {
 public:
  std::string make_subcommand(const CLI::App* sub) const override {
    const std::string description = sub->get_description();
    std::ostringstream out;
    CLI::detail::format_help(out, sub->get_name(), description.substr(0, description.find('\n')), 14);
    return out.str();
  }
  // Without the environment variable, which follows from the option's name.
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text;
    if (!option->get_type_name().empty()) text = " " + option->get_type_name();
    if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
    return text;
  }
  std::string make_footer(const CLI::App* app) const override {
    const std::string footer = app->get_footer();
    return footer.empty() ? "" : "\n" + footer + "\n";
  }
};

void finish(CLI::App& app) {
  name_environment(app);
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // a flag
    option->transform([](const std::string& text) { return text.substr(text.starts_with(kMark) ? 1 : 0); });
  }
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) finish(*sub);
}

}  // namespace

void finish_command_line(CLI::App& program) {
  auto help = std::make_shared<HelpText>();
  help->column_width(34);
  program.formatter(help);
  for (CLI::App* sub : program.get_subcommands([](CLI::App*) { return true; })) sub->formatter(help);
  finish(program);
}

std::vector<std::string> literal_arguments(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = argc - 1; i > 0; --i) {
    std::string argument = argv[i];
    if (argument.starts_with('[') || argument.starts_with(kMark)) argument.insert(0, 1, kMark);
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

}  // namespace mplus::cli

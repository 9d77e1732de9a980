#include "tests/documents/schema.hpp"

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace {

std::unique_ptr<valijson::Schema> load_schema() {
  std::ifstream file(ATTN_DATA "/trace.schema.json");
  if (!file) throw std::runtime_error("cannot open " ATTN_DATA "/trace.schema.json");
  const auto document = nlohmann::json::parse(file);
  auto schema = std::make_unique<valijson::Schema>();
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(document), *schema);
  return schema;
}

}  // namespace

std::vector<std::string> schema_errors(const std::string& json_text) {
  static const auto schema = load_schema();
  const auto document = nlohmann::json::parse(json_text, nullptr, false);
  if (document.is_discarded()) return {"no JSON"};

  valijson::Validator validator(valijson::Validator::kStrongTypes);
  valijson::ValidationResults results;
  std::vector<std::string> errors;
  if (validator.validate(*schema, valijson::adapters::NlohmannJsonAdapter(document), &results)) return errors;
  for (const auto& error : results) {
    std::string where;
    for (const auto& part : error.context) where += part;
    errors.push_back(where + ": " + error.description);
  }
  if (errors.empty()) errors.push_back("not valid");
  return errors;
}

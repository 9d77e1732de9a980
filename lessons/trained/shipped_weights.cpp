#include "lessons/trained/shipped_weights.hpp"

#include <map>
#include <vector>

#include "lessons/trained/layers.hpp"

namespace lessons {

namespace {

const LayerOfModel& layer_of(const std::string& model, std::size_t layer) {
  static std::map<std::string, std::vector<LayerOfModel>> known;
  const auto found = known.find(model);
  return (found != known.end() ? found : known.emplace(model, layers_of_model(model)).first)
      ->second.at(layer - 1);
}

}  // namespace

void add_weights_of(Functions& functions, const std::string& name, std::string_view model,
                    std::size_t layer) {
  functions.tensors[name] = [=, model = std::string(model)](const DocumentRun& run) {
    const auto& of = layer_of(model, layer);
    auto& trace = run.bench().trace;
    trace.label(name + "/query", {{of.queries}});
    trace.label(name + "/key", {{of.keys}});
    const auto& shape = of.weights.shape();
    formula::Numbers weights(attn::Shape{shape[1], shape[2], shape[3]});
    std::copy(of.weights.begin(), of.weights.end(), weights.begin());
    return owned_view(std::move(weights));
  };
}

}  // namespace lessons

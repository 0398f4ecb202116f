#include "runtime/keeper/gpus.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony::keeper {

std::optional<std::vector<int>> PickGpus(const std::vector<int>& all, const std::vector<int>& taken, int count) {
  std::vector<int> free;
  for (const int gpu : all)
    if (!std::ranges::count(taken, gpu)) free.push_back(gpu);
  if (std::ssize(free) < count) return std::nullopt;
  std::ranges::sort(free);
  free.resize(static_cast<size_t>(count));
  return free;
}

std::vector<std::string> GpuEnvironment(const std::vector<int>& gpus, bool machine_has_gpus) {
  if (gpus.empty())
    return machine_has_gpus ? std::vector<std::string>{"CUDA_VISIBLE_DEVICES="} : std::vector<std::string>();
  const std::string list = NumberList(gpus);
  // By itself CUDA numbers the fastest GPU first; the machine's numbers are those of the bus.
  return {StrCat("CUDA_VISIBLE_DEVICES=", list), StrCat("NVIDIA_VISIBLE_DEVICES=", list),
          "CUDA_DEVICE_ORDER=PCI_BUS_ID"};
}

std::string NumberList(const std::vector<int>& numbers) {
  std::vector<std::string> words;
  for (const int number : numbers) words.push_back(std::to_string(number));
  return Join(words, ",");
}

}  // namespace tony::keeper

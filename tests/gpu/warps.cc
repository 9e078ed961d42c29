// A plugin for oclgrind that counts what warps of 32 items do: for each launch, a line to the file
// $WARPS_OUT (counts.py reads it).  It counts instructions of LLVM and models no caches.
//
//   issued     instructions of warps: per instruction, what the item that ran it most often did
//   sectors    of 32 bytes that loads and stores touch, per warp and request
//   least      the same if every byte that was asked for were asked for once, in order
//   cycles     of local memory: per request, the most words in one of its 32 banks
//   divisions  of 64 bits by what is not constant
#include "oclgrind/Context.h"
#include "oclgrind/KernelInvocation.h"
#include "oclgrind/Memory.h"
#include "oclgrind/Plugin.h"
#include "oclgrind/WorkGroup.h"
#include "oclgrind/WorkItem.h"
#include "oclgrind/common.h"
#include "llvm/IR/Instructions.h"
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

namespace {

enum { WARP = 32, SECTOR = 32, BANKS = 32, BANK_BYTES = 4 };

// What the items of a warp ask for when they run an instruction for the same time.
struct Request {
  unsigned space = 0;
  std::vector<std::pair<size_t, size_t>> pieces;  // address, bytes
};

// An instruction in a group: how often each item ran it; requests by warp and turn.
struct Site {
  std::vector<unsigned> runs;
  std::map<std::pair<size_t, unsigned>, Request> requests;
};

struct Counts {
  size_t items = 0, groups = 0, issued = 0, requests = 0, sectors = 0, bytes = 0;
  size_t local_requests = 0, cycles = 0, barriers = 0, divisions = 0, atomics = 0;
};

size_t sectors_of(const Request &request) {
  std::set<size_t> seen;
  for (auto [address, bytes] : request.pieces)
    for (size_t s = address / SECTOR; s <= (address + bytes - 1) / SECTOR; s++)
      seen.insert(s);
  return seen.size();
}

size_t cycles_of(const Request &request) {
  std::array<std::set<size_t>, BANKS> banks;
  for (auto [address, bytes] : request.pieces)
    for (size_t w = address / BANK_BYTES; w <= (address + bytes - 1) / BANK_BYTES; w++)
      banks[w % BANKS].insert(w);
  size_t most = 0;
  for (const auto &bank : banks)
    most = std::max(most, bank.size());
  return most;
}

// What becomes no instruction of a device.
bool is_free(const llvm::Instruction *at) {
  if (llvm::isa<llvm::PHINode>(at) || llvm::isa<llvm::AllocaInst>(at)) return true;
  if (llvm::isa<llvm::BitCastInst>(at) || llvm::isa<llvm::AddrSpaceCastInst>(at))
    return true;
  const auto *call = llvm::dyn_cast<llvm::CallInst>(at);
  return call && call->getCalledFunction() &&
         call->getCalledFunction()->getName().startswith("llvm.dbg");
}

bool is_long_division(const llvm::Instruction *at) {
  unsigned op = at->getOpcode();
  bool divides = op == llvm::Instruction::SDiv || op == llvm::Instruction::UDiv ||
                 op == llvm::Instruction::SRem || op == llvm::Instruction::URem;
  return divides && at->getType()->isIntegerTy(64) &&
         !llvm::isa<llvm::Constant>(at->getOperand(1));
}

class Warps : public oclgrind::Plugin {
  std::unordered_map<const llvm::Instruction *, Site> sites;
  Counts counts;
  size_t group_size = 1;
  std::FILE *out;

  Site &site_of(const llvm::Instruction *at) {
    Site &site = sites[at];
    if (site.runs.size() < group_size) site.runs.resize(group_size);
    return site;
  }

  void see_access(const oclgrind::Memory *memory, const oclgrind::WorkItem *item,
                  size_t address, size_t bytes) {
    unsigned space = memory->getAddressSpace();
    if (space != oclgrind::AddrSpaceGlobal && space != oclgrind::AddrSpaceLocal) return;
    size_t number = item->getLocalID().x;
    Site &site = site_of(item->getCurrentInstruction());
    Request &request = site.requests[{ number / WARP, site.runs[number] }];
    request.space = space;
    request.pieces.emplace_back(address, bytes);
  }

  void add_request(const Request &request) {
    if (request.space == oclgrind::AddrSpaceLocal) {
      counts.local_requests++;
      counts.cycles += cycles_of(request);
      return;
    }
    counts.requests++;
    counts.sectors += sectors_of(request);
    for (auto [address, bytes] : request.pieces)
      counts.bytes += bytes;
  }

  void add_issued(const Site &site) {
    for (size_t first = 0; first < site.runs.size(); first += WARP) {
      auto begin = site.runs.begin() + first;
      auto end = site.runs.begin() + std::min(first + WARP, site.runs.size());
      counts.issued += *std::max_element(begin, end);
    }
  }

public:
  Warps(const oclgrind::Context *context, std::FILE *file) : Plugin(context), out(file) {}
  ~Warps() override { std::fclose(out); }
  bool isThreadSafe() const override { return false; }

  void kernelBegin(const oclgrind::KernelInvocation *kernel) override {
    counts = {};
    counts.items = kernel->getGlobalSize().x;
    counts.groups = kernel->getNumGroups().x;
    group_size = kernel->getLocalSize().x;
  }

  void kernelEnd(const oclgrind::KernelInvocation *) override {
    std::fprintf(out,
                 "items %zu groups %zu issued %zu requests %zu sectors %zu least %zu "
                 "local %zu cycles %zu barriers %zu divisions %zu atomics %zu\n",
                 counts.items, counts.groups, counts.issued, counts.requests,
                 counts.sectors, counts.bytes / SECTOR, counts.local_requests,
                 counts.cycles, counts.barriers, counts.divisions, counts.atomics);
    std::fflush(out);
  }

  void workGroupBegin(const oclgrind::WorkGroup *) override { sites.clear(); }
  void workGroupBarrier(const oclgrind::WorkGroup *, uint32_t) override {
    counts.barriers++;
  }

  void workGroupComplete(const oclgrind::WorkGroup *) override {
    for (const auto &[at, site] : sites) {
      add_issued(site);
      for (const auto &[turn, request] : site.requests)
        add_request(request);
    }
  }

  void memoryLoad(const oclgrind::Memory *memory, const oclgrind::WorkItem *item,
                  size_t address, size_t bytes) override {
    see_access(memory, item, address, bytes);
  }
  void memoryStore(const oclgrind::Memory *memory, const oclgrind::WorkItem *item,
                   size_t address, size_t bytes, const uint8_t *) override {
    see_access(memory, item, address, bytes);
  }
  void memoryAtomicLoad(const oclgrind::Memory *, const oclgrind::WorkItem *,
                        oclgrind::AtomicOp, size_t, size_t) override {
    counts.atomics++;
  }

  void instructionExecuted(const oclgrind::WorkItem *item, const llvm::Instruction *at,
                           const oclgrind::TypedValue &) override {
    if (is_free(at)) return;
    site_of(at).runs[item->getLocalID().x]++;
    counts.divisions += is_long_division(at);
  }
};

Warps *plugin;

}  // namespace

extern "C" {
void initializePlugins(oclgrind::Context *context);
void releasePlugins(oclgrind::Context *context);

void initializePlugins(oclgrind::Context *context) {
  const char *path = std::getenv("WARPS_OUT");
  std::FILE *out = path ? std::fopen(path, "w") : nullptr;
  if (!out) return;
  plugin = new Warps(context, out);
  context->registerPlugin(plugin);
}

void releasePlugins(oclgrind::Context *context) {
  if (!plugin) return;
  context->unregisterPlugin(plugin);
  delete plugin;
  plugin = nullptr;
}
}

// Begin transport_threads.h: workers that are threads of one process, each with a device, or a part
// of one, of its own.  What they exchange lies in memory that all see.
#include <pthread.h>

enum { RT_STAGES = 2 };

// What all of them share.
struct rt_team {
  pthread_mutex_t meeting, alone;
  pthread_cond_t all_here;
  int size, here;
  int64_t meetings;
  bool given_up;     // before anything began
  int *numbers;      // [RT_STAGES][size]
  const void *sent;  // in a broadcast
  char *stages[RT_STAGES];
  int64_t stage_bytes[RT_STAGES];
};

struct rt_member {
  struct rt_team *team;
  struct rt_workers workers;
  struct rt_config config;
  struct rt_cli cli;
  pthread_t thread;
  int64_t numbers, stages;  // used so far
  int status;
};

RT_FN struct rt_member *rt_member_of(const struct rt_workers *w) {
  return (struct rt_member *)w->transport;
}

// ---- meetings

// Waits until all are here.
RT_FN void rt_meet(struct rt_team *team) {
  pthread_mutex_lock(&team->meeting);
  int64_t meeting = team->meetings;
  if (++team->here == team->size) {
    team->here = 0;
    team->meetings++;
    pthread_cond_broadcast(&team->all_here);
  }
  while (team->meetings == meeting)
    pthread_cond_wait(&team->all_here, &team->meeting);
  pthread_mutex_unlock(&team->meeting);
}

// Numbers and stages have two places, which take turns: who comes to a place again has met all
// others since, after they were done with it.
RT_FN int rt_transport_least(struct rt_workers *w, int number) {
  struct rt_member *m = rt_member_of(w);
  int *numbers = m->team->numbers + m->numbers++ % RT_STAGES * w->size;
  int least = number;
  numbers[w->rank] = number;
  rt_meet(m->team);
  for (int i = 0; i < w->size; i++)
    if (numbers[i] < least) least = numbers[i];
  return least;
}

RT_FN void rt_transport_broadcast(struct rt_workers *w, int from, void *bytes,
                                  int64_t count) {
  struct rt_team *team = rt_member_of(w)->team;
  if (w->rank == from) team->sent = bytes;
  rt_meet(team);
  if (w->rank != from && count > 0) memcpy(bytes, team->sent, (size_t)count);
  rt_meet(team);
}

RT_FN void rt_transport_alone(struct rt_workers *w, bool begins) {
  struct rt_team *team = rt_member_of(w)->team;
  if (begins)
    pthread_mutex_lock(&team->alone);
  else
    pthread_mutex_unlock(&team->alone);
}

// ---- gathers

// The same for all: what is put there need not be moved.
RT_FN char *rt_transport_stage(struct rt_workers *w, int64_t bytes) {
  struct rt_member *m = rt_member_of(w);
  struct rt_team *team = m->team;
  int k = (int)(m->stages++ % RT_STAGES);
  pthread_mutex_lock(&team->meeting);
  if (bytes > team->stage_bytes[k] || !team->stages[k]) {
    free(team->stages[k]);
    team->stages[k] = (char *)malloc(bytes ? (size_t)bytes : 1);
    team->stage_bytes[k] = team->stages[k] ? bytes : 0;
  }
  char *stage = team->stages[k];
  pthread_mutex_unlock(&team->meeting);
  return stage;
}

RT_FN bool rt_transport_gather(struct rt_workers *w, void *all,
                               const struct rt_gathered *g) {
  (void)w, (void)all, (void)g;
  return true;
}

RT_FN bool rt_transport_exchange(struct rt_workers *w, const struct rt_exchange *e) {
  (void)w, (void)e;
  return true;
}

RT_FN bool rt_transport_fetch(struct rt_workers *w, char *all, int64_t row_bytes,
                              const struct rt_wanted *wanted) {
  (void)w, (void)all, (void)row_bytes, (void)wanted;
  return true;
}

// ---- executables

RT_FN int rt_count_devices(const struct rt_config *cfg) {
#ifdef RT_NO_OPENCL
  (void)cfg;
  return 0;
#else
  struct rt_config any = *cfg;
  struct rt_device_list list = rt_cl_devices();
  any.device = NULL;
  rt_filter_devices(&any, &list);
  return list.count;
#endif
}

// The devices that the command line asks for: "a,b", or "all", of which each may be in parts.
RT_FN int rt_team_devices(const struct rt_cli *cli, char ***out) {
  const struct rt_config *cfg = cli->cfg;
  const char *at = cfg->device ? cfg->device : "";
  int count = 0;
  if (strcmp(at, "all") == 0) {
    struct rt_text t = { NULL, 0, 0 };
    count = rt_count_devices(cfg);
    *out = (char **)rt_host_alloc((size_t)(count + 1) * sizeof **out);
    for (int i = 0; i < count; i++) {
      rt_text_printf(&t, "#%d", i);
      (*out)[i] = rt_text_take(&t);
    }
    return count;
  }
  *out = (char **)rt_host_alloc((strlen(at) + 2) * sizeof **out);
  for (bool more = true; more; at++) {
    struct rt_text t = { NULL, 0, 0 };
    size_t length = strcspn(at, ",");
    rt_text_bytes(&t, at, length);
    (*out)[count++] = rt_text_take(&t);
    at += length;
    more = *at == ',';
  }
  return count;
}

RT_FN void *rt_member_main(void *state) {
  struct rt_member *m = (struct rt_member *)state;
  pthread_mutex_lock(&m->team->meeting);
  bool given_up = m->team->given_up;
  pthread_mutex_unlock(&m->team->meeting);
  if (given_up) return NULL;
  rt_out = m->workers.rank == 0 ? stdout : fopen("/dev/null", "w");
  if (!rt_out) rt_out = stderr;
  m->status = rt_run_as_worker(&m->cli, &m->workers);
  if (m->workers.rank > 0 && rt_out != stderr) fclose(rt_out);
  return NULL;
}

// Everything of the configuration is only read from now on, but for what belongs to one worker.
RT_FN void rt_member_set(struct rt_member *m, struct rt_team *team,
                         const struct rt_cli *cli, int rank) {
  m->team = team;
  m->cli = *cli;
  m->config = *cli->cfg;
  m->cli.cfg = &m->config;
  m->workers.rank = rank;
  m->workers.size = team->size;
  m->workers.neighbours = 1;
  m->workers.transport = m;
  m->config.at_terminal = rank == 0 && cli->cfg->at_terminal;
  m->config.status_file = rank == 0 ? cli->cfg->status_file : 0;
}

// Starts all or none.
RT_FN int rt_team_start(struct rt_member *members, struct rt_team *team) {
  int started = 0, failed = 0;
  pthread_mutex_lock(&team->meeting);
  for (; started < team->size && !failed; started += !failed)
    failed =
        pthread_create(&members[started].thread, NULL, rt_member_main, &members[started]);
  team->given_up = failed != 0;
  pthread_mutex_unlock(&team->meeting);
  for (int i = 0; i < started; i++)
    pthread_join(members[i].thread, NULL);
  return failed
             ? rt_usage_error("cannot start %d threads: %s", team->size, strerror(failed))
             : 0;
}

RT_FN int rt_team_run(const struct rt_cli *cli, char *const *devices, int device_count) {
  struct rt_team team;
  memset(&team, 0, sizeof team);
  int parts = cli->split ? cli->split : 1, status;
  team.size = device_count * parts;
  pthread_mutex_init(&team.meeting, NULL);
  pthread_mutex_init(&team.alone, NULL);
  pthread_cond_init(&team.all_here, NULL);
  size_t size = (size_t)team.size;
  team.numbers = (int *)rt_host_alloc(RT_STAGES * size * sizeof *team.numbers);
  struct rt_member *members = (struct rt_member *)rt_host_alloc(size * sizeof *members);
  for (int i = 0; i < team.size; i++) {
    rt_member_set(&members[i], &team, cli, i);
    members[i].config.device = devices[i / parts];
    members[i].config.part = i % parts;
    members[i].config.parts = parts;
  }
  status = rt_team_start(members, &team);
  for (int i = 0; i < team.size; i++)
    if (members[i].status) status = members[i].status;
  for (int k = 0; k < RT_STAGES; k++)
    free(team.stages[k]);
  free(members);
  free(team.numbers);
  pthread_cond_destroy(&team.all_here);
  pthread_mutex_destroy(&team.alone);
  pthread_mutex_destroy(&team.meeting);
  return status;
}

RT_FN int rt_transport_main(int argc, char **argv) {
  enum { RT_MOST_WORKERS = 1024 };
  struct rt_cli cli;
  char **devices = NULL;
  rt_out = stdout;
  int status = rt_cli_open(&cli, argc, argv), count = 0;
  bool runs = status == 0 && !rt_print_information(&cli);
  if (runs) count = rt_team_devices(&cli, &devices);
  if (runs && count == 0) status = rt_usage_error("no device found");
  if (count * (int64_t)(cli.split ? cli.split : 1) > RT_MOST_WORKERS)
    status = rt_usage_error("more than %d workers", RT_MOST_WORKERS);
  if (runs && status == 0) status = rt_team_run(&cli, devices, count);
  for (int i = 0; i < count; i++)
    free(devices[i]);
  free(devices);
  return rt_cli_close(&cli, status);
}
// End transport_threads.h

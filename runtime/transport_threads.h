// Begin transport_threads.h: workers that are threads of one process, each with a device, or a part
// of one, of its own.  What they exchange lies in memory that all see.

#define rt_team RT_NAME(team)

enum { RT_STAGES = 2, RT_MOST_WORKERS = 1024 };

// What all of them share.
struct rt_team {
  pthread_mutex_t meeting, alone;
  pthread_cond_t all_here;
  int size, here;
  int64_t meetings;
  bool given_up;     // before anything began
  bool *joined;      // [size], in a library
  int *numbers;      // [RT_STAGES][size]
  const void *sent;  // in a broadcast
  char *stages[RT_STAGES];
  int64_t stage_bytes[RT_STAGES];
};

// What a worker keeps.
struct rt_member {
  struct rt_team *team;
  int64_t numbers;  // used so far
  int64_t meeting;  // that has begun
};

RT_FN struct rt_member *rt_member_of(const struct rt_workers *w) {
  return (struct rt_member *)w->transport;
}

// ---- meetings

// Is here; returns the number of the meeting.
RT_FN int64_t rt_meet_begin(struct rt_team *team) {
  pthread_mutex_lock(&team->meeting);
  int64_t meeting = team->meetings;
  if (++team->here == team->size) {
    team->here = 0;
    team->meetings++;
    pthread_cond_broadcast(&team->all_here);
  }
  pthread_mutex_unlock(&team->meeting);
  return meeting;
}

// Waits until all are there.
RT_FN void rt_meet_end(struct rt_team *team, int64_t meeting) {
  pthread_mutex_lock(&team->meeting);
  while (team->meetings == meeting)
    pthread_cond_wait(&team->all_here, &team->meeting);
  pthread_mutex_unlock(&team->meeting);
}

RT_FN void rt_meet(struct rt_team *team) { rt_meet_end(team, rt_meet_begin(team)); }

// Numbers and stages have two places, which take turns: who comes to a place again has met all
// others since, after they were done with it.  Numbers are counted for both: a worker that fails
// stages nothing in that call, but meets the others.
// What is exchanged lies where all see it.
RT_FN void rt_transport_begin(struct rt_workers *w, int number,
                              const struct rt_exchange *e) {
  struct rt_member *m = rt_member_of(w);
  (void)e;
  m->team->numbers[m->numbers % RT_STAGES * w->size + w->rank] = number;
  m->meeting = rt_meet_begin(m->team);
}

RT_FN int rt_transport_end(struct rt_workers *w) {
  struct rt_member *m = rt_member_of(w);
  const int *numbers = m->team->numbers + m->numbers++ % RT_STAGES * w->size;
  rt_meet_end(m->team, m->meeting);
  int least = numbers[0];
  for (int i = 1; i < w->size; i++)
    if (numbers[i] < least) least = numbers[i];
  return least;
}

RT_FN int rt_transport_least(struct rt_workers *w, int number) {
  rt_transport_begin(w, number, NULL);
  return rt_transport_end(w);
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
  struct rt_member *m = rt_member_of(w);
  if (!m) return;
  if (begins)
    pthread_mutex_lock(&m->team->alone);
  else
    pthread_mutex_unlock(&m->team->alone);
}

// ---- gathers

// The same for all: what is put there need not be moved.
RT_FN char *rt_transport_stage(struct rt_workers *w, int64_t bytes) {
  struct rt_member *m = rt_member_of(w);
  struct rt_team *team = m->team;
  int k = (int)(m->numbers % RT_STAGES);
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

RT_FN bool rt_transport_takes_cuda(void) { return false; }

RT_FN bool rt_transport_gather(struct rt_workers *w, void *all,
                               const struct rt_gathered *g) {
  (void)w, (void)all, (void)g;
  return true;
}

RT_FN bool rt_transport_fetch(struct rt_workers *w, char *all, int64_t row_bytes,
                              const struct rt_wanted *wanted) {
  (void)w, (void)all, (void)row_bytes, (void)wanted;
  return true;
}

// Where the items of one worker for another are among those of all, in the order of both.
RT_FN int64_t rt_parcel_at(const struct rt_workers *w, const struct rt_parcels *p,
                           int from, int to) {
  int64_t sum = 0;
  for (int i = 0; i < from * w->size + to; i++)
    sum += p->counts[i];
  return sum * p->item_bytes;
}

RT_FN bool rt_transport_parcels(struct rt_workers *w, struct rt_parcels *p) {
  p->staged = rt_transport_stage(w, rt_parcel_at(w, p, w->size, 0));
  if (p->staged) p->out = p->staged + rt_parcel_at(w, p, w->rank, 0);
  return p->staged != NULL;
}

RT_FN bool rt_transport_deliver(struct rt_workers *w, struct rt_parcels *p) {
  for (int r = 0; r < w->size; r++)
    p->in[r] = p->staged + rt_parcel_at(w, p, r, w->rank);
  return true;
}

// ---- teams

RT_FN void rt_team_open(struct rt_team *team, int size) {
  memset(team, 0, sizeof *team);
  team->size = size;
  team->numbers = (int *)rt_host_alloc(RT_STAGES * (size_t)size * sizeof *team->numbers);
  team->joined = (bool *)rt_host_alloc((size_t)size * sizeof *team->joined);
  pthread_mutex_init(&team->meeting, NULL);
  pthread_mutex_init(&team->alone, NULL);
  pthread_cond_init(&team->all_here, NULL);
}

RT_FN void rt_team_close(struct rt_team *team) {
  for (int k = 0; k < RT_STAGES; k++)
    free(team->stages[k]);
  free(team->numbers);
  free(team->joined);
  pthread_cond_destroy(&team->all_here);
  pthread_mutex_destroy(&team->alone);
  pthread_mutex_destroy(&team->meeting);
}

typedef void (*rt_team_work)(struct rt_team *team, int rank, void *state);

struct rt_thread {
  struct rt_team *team;
  rt_team_work work;
  void *state;
  int rank;
  pthread_t id;
};

RT_FN void *rt_thread_main(void *state) {
  struct rt_thread *t = (struct rt_thread *)state;
  pthread_mutex_lock(&t->team->meeting);
  bool given_up = t->team->given_up;
  pthread_mutex_unlock(&t->team->meeting);
  if (!given_up) t->work(t->team, t->rank, t->state);
  return NULL;
}

// A thread for each rank: all of them, or none; why there is none, or 0 when all have ended.
RT_FN int rt_team_start(struct rt_team *team, rt_team_work work, void *state) {
  struct rt_thread *threads =
      (struct rt_thread *)rt_host_alloc((size_t)team->size * sizeof *threads);
  int started = 0, failed = 0;
  pthread_mutex_lock(&team->meeting);
  for (; started < team->size && !failed; started += !failed) {
    struct rt_thread *t = &threads[started];
    t->team = team;
    t->work = work;
    t->state = state;
    t->rank = started;
    failed = pthread_create(&t->id, NULL, rt_thread_main, t);
  }
  team->given_up = failed != 0;
  pthread_mutex_unlock(&team->meeting);
  for (int i = 0; i < started; i++)
    pthread_join(threads[i].id, NULL);
  free(threads);
  return failed;
}

#ifdef RT_LIBRARY

// ---- libraries

RT_FN void rt_transport_close(struct rt_workers *w) {
  struct rt_member *m = rt_member_of(w);
  if (!m) return;
  pthread_mutex_lock(&m->team->meeting);
  m->team->joined[w->rank] = false;
  pthread_mutex_unlock(&m->team->meeting);
  free(m);
  w->transport = NULL;
}

struct rt_team *RT_NAME(team_new)(int size) {
  if (size < 1 || size > RT_MOST_WORKERS) return NULL;
  struct rt_team *team = (struct rt_team *)rt_host_alloc(sizeof *team);
  rt_team_open(team, size);
  return team;
}

void RT_NAME(team_free)(struct rt_team *team) {
  if (team) rt_team_close(team);
  free(team);
}

int RT_NAME(team_run)(struct rt_team *team, rt_team_work work, void *state) {
  return rt_team_start(team, work, state) != 0;
}

int RT_NAME(context_config_set_team)(struct rt_config *cfg, struct rt_team *team,
                                     int rank) {
  struct rt_workers *w = cfg->workers;
  if (!team || rank < 0 || rank >= team->size) return 1;
  rt_transport_close(w);
  pthread_mutex_lock(&team->meeting);
  bool taken = team->joined[rank];
  team->joined[rank] = true;
  pthread_mutex_unlock(&team->meeting);
  if (taken) return 1;
  struct rt_member *m = (struct rt_member *)rt_host_alloc(sizeof *m);
  m->team = team;
  w->transport = m;
  w->rank = rank;
  w->size = team->size;
  return 0;
}

int RT_NAME(context_config_set_device_part)(struct rt_config *cfg, int part, int parts) {
  if (part < 0 || part >= parts || parts > RT_MOST_WORKERS) return 1;
  cfg->part = part;
  cfg->parts = parts;
  cfg->shares_units = true;
  return 0;
}
#else

// ---- executables

RT_FN int rt_count_devices(const struct rt_config *cfg) {
#  ifdef RT_NO_OPENCL
  (void)cfg;
  return 0;
#  else
  struct rt_config any = *cfg;
  struct rt_device_list list = rt_cl_devices();
  any.device = NULL;
  rt_filter_devices(&any, &list);
  return list.count;
#  endif
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

// A worker of an executable.
struct rt_cli_member {
  struct rt_member member;
  struct rt_workers workers;
  struct rt_config config;
  struct rt_cli cli;
  int status;
};

RT_FN void rt_cli_member_main(struct rt_team *team, int rank, void *state) {
  struct rt_cli_member *m = (struct rt_cli_member *)state + rank;
  (void)team;
  rt_out = rank == 0 ? stdout : fopen("/dev/null", "w");
  if (!rt_out) rt_out = stderr;
  m->status = rt_run_as_worker(&m->cli, &m->workers);
  if (rank > 0 && rt_out != stderr) fclose(rt_out);
}

// Of "cpu,gpu" each in turn.
RT_FN int rt_code_of_member(const struct rt_cli *cli, int rank) {
  const char *at = cli->codes;
  int code = cli->cfg->code;
  for (int i = 0; at && i <= rank; i++) {
    if (!*at) at = cli->codes;
    code = rt_take_code(&at);
  }
  return code;
}

// Everything of the configuration is only read from now on, but for what belongs to one worker.
RT_FN void rt_cli_member_set(struct rt_cli_member *m, struct rt_team *team,
                             const struct rt_cli *cli, int rank) {
  m->member.team = team;
  m->cli = *cli;
  m->config = *cli->cfg;
  m->cli.cfg = &m->config;
  m->workers.rank = rank;
  m->workers.size = team->size;
  m->workers.neighbours = 1;
  m->workers.transport = &m->member;
  m->config.code = rt_code_of_member(cli, rank);
  m->config.at_terminal = rank == 0 && cli->cfg->at_terminal;
  m->config.status_file = rank == 0 ? cli->cfg->status_file : 0;
}

RT_FN int rt_team_run(const struct rt_cli *cli, char *const *devices, int device_count) {
  struct rt_team team;
  int parts = cli->split ? cli->split : 1;
  rt_team_open(&team, device_count * parts);
  struct rt_cli_member *members =
      (struct rt_cli_member *)rt_host_alloc((size_t)team.size * sizeof *members);
  for (int i = 0; i < team.size; i++) {
    rt_cli_member_set(&members[i], &team, cli, i);
    members[i].config.device = devices[i / parts];
    members[i].config.part = i % parts;
    members[i].config.parts = parts;
  }
  int failed = rt_team_start(&team, rt_cli_member_main, members), status = 0;
  if (failed)
    status = rt_usage_error("cannot start %d threads: %s", team.size, strerror(failed));
  for (int i = 0; i < team.size; i++)
    if (members[i].status) status = members[i].status;
  free(members);
  rt_team_close(&team);
  return status;
}

RT_FN int rt_transport_main(int argc, char **argv) {
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
#endif
// End transport_threads.h

/* A client without any work: see bare_loop.py, which compiles and calls this. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double seconds_of(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

/* Sends requests[i * each ... i * each + each - 1], of `length` bytes each, on sockets[i] over and over, the next one when the answer
 * to the last one has come. It waits as dialin-load does: one thread, epoll with edges, SCHED_BATCH. After `settle` seconds it measures
 * for `measured` seconds. figures: requests per second, CPU microseconds per request. Returns 0, or -1 if a connection is lost. */
int drive(const int *sockets, int connections, const char *requests, int each, int length, double settle, double measured, double *figures)
{
    static char answer[1 << 16];
    struct epoll_event events[1024], event = {.events = EPOLLIN | EPOLLET};
    struct sched_param parameter = {0};
    int *next = calloc(connections, sizeof *next), poller = epoll_create1(EPOLL_CLOEXEC);
    sched_setscheduler(0, SCHED_BATCH, &parameter);
    for (int i = 0; i < connections; i++) {
        event.data.u32 = i;
        epoll_ctl(poller, EPOLL_CTL_ADD, sockets[i], &event);
        send(sockets[i], requests + (long)i * each * length, length, MSG_NOSIGNAL);
    }
    long requested = 0;
    int is_settled = 0, lost = 0;
    double begin = seconds_of(CLOCK_MONOTONIC), cpu = 0;
    for (unsigned waits = 0; !lost; waits++) {
        int ready = epoll_wait(poller, events, 1024, -1);
        for (int j = 0; j < ready && !lost; j++) {
            int i = events[j].data.u32;
            next[i] = (next[i] + 1) % each;
            const char *request = requests + ((long)i * each + next[i]) * length;
            lost = recv(sockets[i], answer, sizeof answer, 0) <= 0 || send(sockets[i], request, length, MSG_NOSIGNAL) != length;
            requested++;
        }
        if (waits % 64)
            continue;
        double now = seconds_of(CLOCK_MONOTONIC), since = now - begin;
        if (!is_settled && since > settle) {
            is_settled = 1, requested = 0, begin = now, cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
        } else if (is_settled && since > measured) {
            figures[0] = requested / since;
            figures[1] = 1e6 * (seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu) / requested;
            break;
        }
    }
    close(poller);
    free(next);
    return lost ? -1 : 0;
}

/* A timer without any work: how late the kernel wakes a process that waits for a timerfd in epoll. See lateness.py. */

#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 2000, EVERY = 1000000, SECOND = 1000000000 };

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

int main(void) {
    int timer = timerfd_create(CLOCK_MONOTONIC, 0), epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
    uint64_t due = now() + 10 * EVERY;
    for (int place = 0; place < COUNT; place++, due += EVERY) {
        struct itimerspec at = {{0, 0}, {(time_t)(due / SECOND), (long)(due % SECOND)}};
        uint64_t expired;
        timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
        epoll_wait(epoll, &event, 1, -1);
        printf("%f\n", (double)(now() - due) / 1e6);
        if (read(timer, &expired, sizeof expired) < 0) return 1;
    }
    return 0;
}

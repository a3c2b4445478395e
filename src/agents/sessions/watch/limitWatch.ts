import type { SandboxLimits } from '../../../contract/agents/sandbox.ts'
import type { SessionCgroup } from '../../../sandbox/cgroup.ts'
import { AgentFailure } from '../../link/agentLink.ts'
import type { AgentProcesses } from '../agentProcesses.ts'

const pauseMs = 1000
const mebibyte = 1024 * 1024

/** Enforces the project's limits on a session as a whole. */
export interface LimitWatch {
  /** Returns the failure of a session: the limit that ended the session, the limit that its program reached, or else `error`. */
  explain(error: unknown, stderrTail?: string): unknown
  stop(): void
}

/**
 * Ends a session's processes as soon as they exceed a limit of the project. If the processes have no control group, their memory and number
 * are measured here. Otherwise, the control group is queried for whether it enforced a limit.
 * `what` begins the sentences of the messages.
 */
export function watchLimits(
  limits: SandboxLimits,
  processes: Pick<AgentProcesses, 'usage'> & { terminate(graceMs: number): Promise<unknown> },
  { what = 'The session', cgroup }: { what?: string; cgroup?: Pick<SessionCgroup, 'reached' | 'limits'> | null } = {},
): LimitWatch {
  const { memoryMiB, processes: maxProcesses } = cgroup?.limits ?? limits
  const { minutes } = limits
  // If the control group reports the event itself, a program's output is not evidence.
  const guessed = cgroup ? { ...limits, memoryMiB: null, processes: null } : limits
  let failure: AgentFailure | undefined
  let timer: NodeJS.Timeout | undefined
  const fail = (found: AgentFailure) => {
    failure ??= found
    void processes.terminate(0).catch(() => {
      /* The closing phase tries again. */
    })
  }
  const count = async () => {
    const used = await processes.usage()
    if (memoryMiB !== null && used.memoryBytes > memoryMiB * mebibyte) return 'memory_limit'
    return maxProcesses !== null && used.processes > maxProcesses ? 'process_limit' : undefined
  }
  const sentences = {
    memory_limit: `${what} used more than ${memoryMiB} MB of memory.`,
    process_limit: `${what} started more than ${maxProcesses} processes.`,
  }
  const failureOf = (reached: keyof typeof sentences | undefined) =>
    reached && new AgentFailure(reached, sentences[reached])
  const measure = async () => {
    const found = failureOf(cgroup ? cgroup.reached() : await count())
    if (found) fail(found)
  }
  const repeat = () => {
    timer = setTimeout(
      () =>
        void measure()
          .catch(() => {})
          .finally(() => failure ?? repeat()),
      pauseMs,
    ).unref()
  }
  if (memoryMiB !== null || maxProcesses !== null) repeat()
  const deadline =
    minutes === null
      ? undefined
      : setTimeout(
          () => fail(new AgentFailure('time_limit', `${what} took longer than ${minutes} minutes.`)),
          minutes * 60_000,
        ).unref()
  return {
    explain: (error, stderrTail = '') =>
      failure ?? failureOf(cgroup?.reached()) ?? limitReached(guessed, error, stderrTail) ?? error,
    stop: () => {
      clearTimeout(timer)
      clearTimeout(deadline)
    },
  }
}

/** Patterns that match the output or the signal of a program for which the kernel enforced a limit. */
const signs = {
  file_limit: /SIGXFSZ|file too large|EFBIG|file size limit/i,
  memory_limit: /out of memory|allocation failed|cannot allocate memory|ENOMEM|MemoryError|bad_alloc/i,
  process_limit: /cannot fork|can't fork|resource temporarily unavailable|EAGAIN/i,
} as const

function limitReached(
  { fileMiB, memoryMiB, processes }: SandboxLimits,
  error: unknown,
  stderrTail: string,
): AgentFailure | undefined {
  if (!(error instanceof AgentFailure) || error.reason !== 'crashed') return undefined
  const matchesSign = (reason: keyof typeof signs) => signs[reason].test(error.message + stderrTail)
  const limitFailure = (reason: keyof typeof signs, limit: string) =>
    new AgentFailure(reason, `The project allows a session ${limit}. ${error.message}`, error).after(error.usage)
  if (fileMiB !== null && matchesSign('file_limit')) return limitFailure('file_limit', `files of at most ${fileMiB} MB`)
  if (memoryMiB !== null && matchesSign('memory_limit'))
    return limitFailure('memory_limit', `at most ${memoryMiB} MB of memory`)
  if (processes !== null && matchesSign('process_limit'))
    return limitFailure('process_limit', `at most ${processes} processes`)
  return undefined
}

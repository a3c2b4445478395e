import type { SandboxLimits } from '../../contract/sandbox.ts'
import { AgentFailure } from '../link/agentLink.ts'
import type { AgentProcesses } from './agentProcesses.ts'

const pauseMs = 1000
const mebibyte = 1024 * 1024

/** Watches what a session uses as a whole, for which the kernel has no bound without a cgroup. */
export interface LimitWatch {
  /** The failure of a session as its limits explain it: the one that ended it, or the one that its program stumbled over. */
  explain(error: unknown, stderrTail?: string): unknown
  stop(): void
}

/**
 * Ends a session's processes at once when they go over a limit of the project.
 * @param what begins the sentences that tell so
 */
export function watchLimits(
  limits: SandboxLimits,
  processes: Pick<AgentProcesses, 'usage'> & { terminate(graceMs: number): Promise<unknown> },
  what = 'The session',
): LimitWatch {
  const { memoryMb, processes: maxProcesses, minutes } = limits
  let failure: AgentFailure | undefined
  let timer: NodeJS.Timeout | undefined
  const fail = (found: AgentFailure) => {
    failure ??= found
    void processes.terminate(0).catch(() => {
      /* The closing phase tries again. */
    })
  }
  const measure = async () => {
    const used = await processes.usage()
    if (memoryMb !== null && used.memoryBytes > memoryMb * mebibyte)
      fail(new AgentFailure('memory_limit', `${what} used more than ${memoryMb} MB of memory.`))
    else if (maxProcesses !== null && used.processes > maxProcesses)
      fail(new AgentFailure('process_limit', `${what} started more than ${maxProcesses} processes.`))
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
  if (memoryMb !== null || maxProcesses !== null) repeat()
  const deadline =
    minutes === null
      ? undefined
      : setTimeout(
          () => fail(new AgentFailure('time_limit', `${what} took longer than ${minutes} minutes.`)),
          minutes * 60_000,
        ).unref()
  return {
    explain: (error, stderrTail = '') => failure ?? limitReached(limits, error, stderrTail) ?? error,
    stop: () => {
      clearTimeout(timer)
      clearTimeout(deadline)
    },
  }
}

/** What programs say, or what ends them, when the kernel refuses them more than a limit of theirs. */
const signs = {
  file_limit: /SIGXFSZ|file too large|EFBIG|file size limit/i,
  memory_limit: /out of memory|allocation failed|cannot allocate memory|ENOMEM|MemoryError|bad_alloc/i,
  process_limit: /cannot fork|can't fork|resource temporarily unavailable|EAGAIN/i,
} as const

function limitReached(
  { fileMb, memoryMb, processes }: SandboxLimits,
  error: unknown,
  stderrTail: string,
): AgentFailure | undefined {
  if (!(error instanceof AgentFailure) || error.reason !== 'crashed') return undefined
  const said = (reason: keyof typeof signs) => signs[reason].test(error.message + stderrTail)
  const failed = (reason: keyof typeof signs, limit: string) =>
    new AgentFailure(reason, `The project allows a session ${limit}. ${error.message}`, error).after(error.usage)
  if (fileMb !== null && said('file_limit')) return failed('file_limit', `files of at most ${fileMb} MB`)
  if (memoryMb !== null && said('memory_limit')) return failed('memory_limit', `at most ${memoryMb} MB of memory`)
  if (processes !== null && said('process_limit')) return failed('process_limit', `at most ${processes} processes`)
  return undefined
}

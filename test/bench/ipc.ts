/** A response of the board, which a bare server must also send. */
export interface Sample {
  status: number
  headers: Record<string, string>
  body: string
  /** The frame that every socket receives when the card is written. */
  frame?: string
  /** The messages that a socket receives when it requests missed events. */
  missed?: readonly string[]
}
/** The work of a bare server: the same bytes without a database, the statement of the work, or that of lists built from objects. */
export type FloorKind = 'raw' | 'statement' | 'objects'
export type WorkKind = 'get' | 'list' | 'stats' | 'search' | 'move' | 'create'
/** Which of two equivalent routes is used: the one for API keys, or the one for signed-in users. */
export type Via = 'key' | 'sign-in'
export interface Job {
  floor: FloorKind
  kind: WorkKind
  via: Via
  projectId: number
  boardId: number
  columnId: number
}

/** The requests that a server's process answers. */
export type Question = { ask: 'cpu' | 'memory' | 'stop' } | { ask: 'use'; job: Job; sample: Sample }
/** User and system time of all threads so far, including the garbage collector; current and peak resident memory. */
export interface Answer {
  cpuMicros?: number
  residentBytes?: number
  peakBytes?: number
}
interface Answers {
  use?(job: Job, sample: Sample): Promise<void>
  stop(): Promise<void> | void
}

/** Sends the parent this process's port, and answers its requests until it ends. */
export function serveParent(port: number, answers: Answers): void {
  process.on('message', async (question: Question) => {
    if (question.ask === 'use') await answers.use?.(question.job, question.sample)
    if (question.ask === 'stop') {
      await answers.stop()
      process.exit()
    }
    process.send!(
      question.ask === 'cpu'
        ? { cpuMicros: cpuMicros() }
        : question.ask === 'memory'
          ? { residentBytes: process.memoryUsage.rss(), peakBytes: process.resourceUsage().maxRSS * 1024 }
          : {},
    )
  })
  process.on('disconnect', () => process.exit())
  process.send!({ port })
}

function cpuMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

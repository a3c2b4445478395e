/** An answer of the board's, which a bare server shall give too. */
export interface Sample {
  status: number
  headers: Record<string, string>
  body: string
  /** What every socket is sent when the card is written. */
  frame?: string
  /** What a socket is sent that asks for what it missed, message by message. */
  missed?: readonly string[]
}
/** What a bare server does: the same bytes without a database, the statement of the work, or that of lists made of objects. */
export type FloorKind = 'raw' | 'statement' | 'objects'
export type WorkKind = 'get' | 'list' | 'stats' | 'search' | 'move' | 'create'
/** Which of the two routes for the same: that of an API key, or that of somebody who has signed in. */
export type Via = 'key' | 'sign-in'
export interface Job {
  floor: FloorKind
  kind: WorkKind
  via: Via
  projectId: number
  boardId: number
  columnId: number
}

/** What a server's process can be asked. */
export type Question = { ask: 'cpu' | 'memory' | 'stop' } | { ask: 'use'; job: Job; sample: Sample }
/** User and system time of all threads so far, the garbage collector's too; resident memory now, and at most so far. */
export interface Answer {
  cpuMicros?: number
  residentBytes?: number
  peakBytes?: number
}
interface Answers {
  use?(job: Job, sample: Sample): Promise<void>
  stop(): Promise<void> | void
}

/** Tells the parent where this process listens, and answers its questions until it goes away. */
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

/** An answer of the board's, which a bare server shall give too. */
export interface Sample { status: number; headers: Record<string, string>; body: string }
/** What a bare server does: the same bytes without a database, the statement of the work, or that of lists made of objects. */
export type FloorKind = 'raw' | 'statement' | 'objects'
export type WorkKind = 'get' | 'list' | 'move' | 'create'
export interface Job { floor: FloorKind; kind: WorkKind; projectId: number; boardId: number; columnId: number }

/** What a server's process can be asked. */
export type Question = { ask: 'cpu' } | { ask: 'use'; job: Job; sample: Sample } | { ask: 'stop' }
interface Answers { use?(job: Job, sample: Sample): Promise<void>; stop(): Promise<void> | void }

/** Tells the parent where this process listens, and answers its questions until it goes away. */
export function serveParent(port: number, answers: Answers): void {
  const answer = (value?: number) => process.send!({ value })
  process.on('message', async (question: Question) => {
    if (question.ask === 'cpu') return answer(cpuMicros())
    if (question.ask === 'use') {
      await answers.use?.(question.job, question.sample)
      return answer()
    }
    await answers.stop()
    process.exit()
  })
  process.on('disconnect', () => process.exit())
  answer(port)
}

/** User and system time of all threads: the garbage collector's too. */
function cpuMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

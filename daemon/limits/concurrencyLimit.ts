import { Problem } from '../../src/contract/errors.ts'

export interface Turns {
  /** Counts a request until it leaves. @throws Problem RATE_LIMITED when there are too many already */
  enter(): () => void
  /** Does a request's work when it is its turn. */
  take<T>(work: () => Promise<T>): Promise<T>
}

/** For requests that take room and time: so many may be under way, slow ones included, and fewer of them at work, in turn. */
export function createTurns(
  what: string,
  { mostUnderWay, mostAtWork }: { mostUnderWay: number; mostAtWork: number },
): Turns {
  let underWay = 0
  let atWork = 0
  const waiting: Array<() => void> = []
  return {
    enter: () => {
      if (underWay === mostUnderWay)
        throw new Problem('RATE_LIMITED', `${mostUnderWay} ${what} are under way already.`, { retryAfterSecs: 10 })
      underWay++
      let isInside = true
      return () => {
        if (isInside) underWay--
        isInside = false
      }
    },
    take: async work => {
      if (atWork === mostAtWork)
        await new Promise<void>(resolve => {
          waiting.push(resolve)
        })
      else atWork++
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else atWork--
      }
    },
  }
}

import { useEffect, useRef } from 'react'
import type { LiveMessage } from '../../../src/client/socket.ts'
import { followProject } from './live.ts'

/** Events come in bursts. */
const quietMs = 250

/** Reloads a value after relevant events, and whenever events could have been missed. */
export function useProjectEvents(
  projectId: string,
  reload: () => Promise<void>,
  isRelevant: (event: LiveMessage) => boolean,
): void {
  const latest = useRef({ reload, isRelevant })
  latest.current = { reload, isRelevant }
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const schedule = () =>
      void (timer ??= setTimeout(() => ((timer = undefined), void latest.current.reload()), quietMs))
    const end = followProject(
      projectId,
      events => events.some(event => event.type === 'resync' || latest.current.isRelevant(event)) && schedule(),
      () => void latest.current.reload(),
    )
    return () => {
      end()
      clearTimeout(timer)
    }
  }, [projectId])
}

import { useEffect } from 'react'
import type { LiveMessage } from '../../../src/client/socket.ts'
import { followProject } from './live.ts'

/** Events come in bursts. */
const quietMs = 250

/**
 * Reloads a value after relevant events, and whenever events could have been missed.
 * @param isRelevant does not change while the component is shown
 */
export function useProjectEvents(
  projectId: string,
  reload: () => Promise<void>,
  isRelevant: (event: LiveMessage) => boolean,
): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const schedule = () => void (timer ??= setTimeout(() => ((timer = undefined), void reload()), quietMs))
    const end = followProject(
      projectId,
      events => events.some(event => event.type === 'resync' || isRelevant(event)) && schedule(),
      () => void reload(),
    )
    return () => {
      end()
      clearTimeout(timer)
    }
  }, [projectId, reload])
}

import { useEffect } from 'react'
import { followProject } from '../app/live.ts'

/** Reloads a list after each event whose type starts with a prefix, and whenever events could have been missed. */
export function useProjectEvents(projectId: string, reload: () => Promise<void>, prefix: `${string}.`): void {
  useEffect(
    () =>
      followProject(
        projectId,
        events => {
          if (events.some(({ type }) => type === 'resync' || type.startsWith(prefix))) void reload()
        },
        () => void reload(),
      ),
    [projectId, reload, prefix],
  )
}

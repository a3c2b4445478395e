import type { Session } from '../../../src/boardModel/openedCard.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { useProjectEvents } from '../app/useProjectEvents.ts'

export type PreSession = Output<Contract['preSessions']['get']>

/** Returns the pre-session that refines a card's prompt. Null if the card has none, or once it is accepted or cancelled. */
export function usePreSession(projectId: string, cardId: string) {
  const loaded = useLoad(async () => {
    const { items } = await client.preSessions.list({ projectId, limit: 200 })
    return items.find(each => each.cardId === cardId && /running|waiting|failed/.test(each.status)) ?? null
  }, [projectId, cardId])
  useProjectEvents(
    projectId,
    loaded.reload,
    ({ type, data }) => type === 'agent.status' && (data as Session).cardId === cardId,
  )
  return loaded
}

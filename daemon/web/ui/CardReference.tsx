import type { MouseEvent } from 'react'
import { showError } from '../app/messages.ts'
import { hrefOf, navigate, useRoute } from '../app/router.ts'
import { client } from '../app/session.ts'

/** A link to a card, next to the board if the board is shown. If the card does not exist, an error is shown instead. */
export function CardReference({ cardId }: { cardId: string }) {
  const route = useRoute()
  if (!('projectId' in route)) return <>#{cardId}</>
  const open = async (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    const { projectId } = await client.cards.getFlat({ id: cardId })
    const isBeside = route.name === 'board' && route.projectId === projectId
    navigate(isBeside ? { ...route, cardId } : { name: 'card', projectId, cardId })
  }
  return (
    <a
      href={hrefOf({ name: 'card', projectId: route.projectId, cardId })}
      onClick={event => void open(event).catch(showError)}
    >
      #{cardId}
    </a>
  )
}

import { navigate, type Route } from '../app/router.ts'
import { CardView } from './CardView.tsx'

/** A card on a separate page, with a link to share. */
export function CardPage({ projectId, cardId, ...part }: Omit<Extract<Route, { name: 'card' }>, 'name'>) {
  return (
    <main className="page card-page" id="main" tabIndex={-1}>
      <CardView
        key={cardId}
        projectId={projectId}
        cardId={cardId}
        {...part}
        isPage
        onPart={shown => navigate({ name: 'card', projectId, cardId, ...shown }, { replace: true })}
        onClose={() => navigate({ name: 'board', projectId })}
      />
    </main>
  )
}

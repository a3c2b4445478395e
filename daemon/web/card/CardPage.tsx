import { navigate, type Route } from '../app/router.ts'
import { CardView } from './CardView.tsx'

/** A card on a separate page, with a link to share. */
export function CardPage({ projectId, cardId, tab, since }: Omit<Extract<Route, { name: 'card' }>, 'name'>) {
  return (
    <main className="page card-page" id="main" tabIndex={-1}>
      <CardView
        key={cardId}
        projectId={projectId}
        cardId={cardId}
        tab={tab}
        since={since}
        isPage
        onPart={(name, review) =>
          navigate({ name: 'card', projectId, cardId, tab: name, since: review }, { replace: true })
        }
        onClose={() => navigate({ name: 'board', projectId })}
      />
    </main>
  )
}

import { useLoad } from '../app/load.ts'
import { showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Await } from '../ui/Page.tsx'
import { Time } from '../ui/Time.tsx'

/** The issue filter, the time of the last synchronization, and its problems. */
export function IssueTie({ projectId, mayWork }: { projectId: string; mayWork: boolean }) {
  const found = useLoad(() => client.issues.list({ projectId, limit: 100 }), [projectId])
  return (
    <Await of={found}>
      {({ sync: { label, comments, syncedAt, problem }, items }) =>
        label !== null && (
          <div className="panel">
            <h3>Issues</h3>
            <p>
              Issues with the label <strong>{label}</strong> become cards; comments{' '}
              {comments ? 'are synchronized in both directions' : 'are not synchronized'}.{' '}
              {syncedAt === null ? (
                'Not synchronized yet.'
              ) : (
                <>
                  Last synchronized: <Time at={syncedAt} />.
                </>
              )}
            </p>
            {problem !== null && (
              <p className="notice failure" role="alert">
                Synchronization failed: {problem}
              </p>
            )}
            {items
              .filter(item => item.problem !== null)
              .map(({ id, number, url, problem: why }) => (
                <p key={id} className="hint">
                  <a href={url} target="_blank" rel="noopener noreferrer">
                    #{number}
                  </a>
                  : {why}
                </p>
              ))}
            {mayWork && (
              <div className="tools">
                <Button
                  onClick={async () => {
                    const { imported, closed, failed } = await client.issues.sync({ projectId })
                    const done = [countText(imported, 'new card'), `${countText(closed, 'issue')} closed`]
                    showMessage(`${[...done, ...(failed > 0 ? [`${failed} failed`] : [])].join(', ')}.`)
                    await found.reload()
                  }}
                >
                  Sync now
                </Button>
              </div>
            )}
          </div>
        )
      }
    </Await>
  )
}

const countText = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Await } from '../ui/Page.tsx'
import { Time } from '../ui/Time.tsx'

/** Lists the sign-ins of the account. */
export function SignIns() {
  const loaded = useLoad(() => client.auth.sessions(), [])
  const end = async (id: string) => {
    await client.auth.endSession({ id })
    await loaded.reload()
  }
  return (
    <Await of={loaded}>
      {all => (
        <div className="scroll-x" role="region" aria-label="Sign-ins" tabIndex={0}>
          <table className="table">
            <thead>
              <tr>
                <th>With</th>
                <th>From</th>
                <th>Since</th>
                <th>Last used</th>
                <th>
                  <span className="visually-hidden">Action</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {all.map(({ id, client: program, address, createdAt, lastUsedAt, current }) => (
                <tr key={id}>
                  <td>{program ?? 'unknown'}</td>
                  <td>{address}</td>
                  <td>
                    <Time at={createdAt} />
                  </td>
                  <td>
                    <Time at={lastUsedAt} />
                  </td>
                  <td>
                    {current ? (
                      'this sign-in'
                    ) : (
                      <Button aria-label={`Revoke sign-in ${id}`} onClick={() => end(id)}>
                        {' '}
                        Revoke{' '}
                      </Button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Await>
  )
}

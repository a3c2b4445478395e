import { signInWith, keepAccount, type Arrival, type Me } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { useTitle } from '../ui/Page.tsx'

/** Asks who one wants to be, where a link signs in as another account than the one that is signed in. */
export function OtherAccount({ me, other }: { me: Me; other: Arrival }) {
  useTitle('Another account')
  const [present, brought] = [me, other.user].map(({ displayName, email }) => displayName || email)
  return (
    <div className="entry">
      <main>
        <h1>Another account</h1>
        <p>
          You are signed in as <b>{present}</b>. This link signs you in as <b>{brought}</b>. If you did not request this
          link, keep your account.
        </p>
        <div className="buttons">
          <Button onClick={() => signInWith(other.token, false)}>Continue as {brought}</Button>
          <Button isMain onClick={() => keepAccount(me, other)}>
            Stay {present}
          </Button>
        </div>
      </main>
    </div>
  )
}

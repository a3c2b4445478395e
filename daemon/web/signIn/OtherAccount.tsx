import { signInWith, keepAccount, type Arrival, type Me } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { useTitle } from '../ui/Page.tsx'

/** Asks which account to use if a link signs in with another account than the current one. */
export function OtherAccount({ me, other }: { me: Me; other: Arrival }) {
  useTitle('Another account')
  const [present, brought] = [me, other.user].map(({ displayName, email }) => displayName || email)
  return (
    <div className="entry">
      <main>
        <h1>Another account</h1>
        <p>
          You are signed in as <b>{present}</b>. This link signs you in as <b>{brought}</b>. If you did not request this
          link, stay signed in to your account.
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

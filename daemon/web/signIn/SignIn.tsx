import { useState } from 'react'
import { goToProvider } from '../app/arrival.ts'
import { useLoad } from '../app/load.ts'
import { reasonOf } from '../app/reasons.ts'
import { navigate, useRoute } from '../app/router.ts'
import { client, signInWith, type AuthStatus } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { Await, useTitle } from '../ui/Page.tsx'
import { InvitationText, useInvitation } from './Invitation.tsx'
import { Login } from './Login.tsx'
import { Register } from './Register.tsx'
import { SetUp } from './SetUp.tsx'

/** The page for signed-out people: the initial setup, or the sign-in methods. */
export function SignIn({ status, reason }: { status: AuthStatus; reason?: string }) {
  useTitle(status.hasUsers ? 'Sign in' : 'Set up')
  return (
    <div className="entry">
      <main>
        <h1>{status.hasUsers ? 'Sign in to board' : 'Welcome to board'}</h1>
        {reason !== undefined && (
          <p className="error" role="alert">
            {reason}
          </p>
        )}
        {status.hasUsers ? <Ways status={status} /> : <SetUp onDone={signInWith} />}
      </main>
    </div>
  )
}

/** The sign-in in a dialog above the page that was open when the sign-in expired. */
export function SignInAgain() {
  const status = useLoad(() => client.auth.status(), [])
  return (
    <Dialog title="Your sign-in has expired">
      <p>Sign in again to continue. Unsaved text is kept.</p>
      <Await of={status}>
        {known => (known.hasUsers ? <Ways status={known} isAgain /> : <SetUp onDone={signInWith} />)}
      </Await>
    </Dialog>
  )
}

function Ways({ status, isAgain = false }: { status: AuthStatus; isAgain?: boolean }) {
  const route = useRoute()
  const token = route.name === 'invitation' ? route.token : undefined
  const { value, error } = useInvitation(token)
  if (value === undefined && error === undefined) return <p className="loading">Loading…</p>
  return (
    <>
      {value && <InvitationText invitation={value} />}
      {error !== undefined && (
        <p className="error" role="alert">
          {reasonOf(error)}
        </p>
      )}
      <Choice status={status} isAgain={isAgain} token={value ? token : undefined} email={value?.email} />
    </>
  )
}

interface ChoiceProps {
  status: AuthStatus
  isAgain: boolean
  /** The token of an invitation. */
  token: string | undefined
  /** The invited address. */
  email: string | undefined
}

/** The sign-in, or the registration of an account. */
function Choice({ status, isAgain, token, email }: ChoiceProps) {
  const [isNew, setNew] = useState(token !== undefined)
  const mayRegister = !isAgain && (status.registrationEnabled || token !== undefined)
  const afterSignUp = async (signIn: string, isKept: boolean) => {
    if (token !== undefined) navigate({ name: 'home' }, { replace: true })
    await signInWith(signIn, isKept)
  }
  return (
    <>
      {isNew && mayRegister ? (
        <Register invitation={token} email={email} onDone={afterSignUp} />
      ) : (
        <Login email={email} onDone={signInWith} />
      )}
      {mayRegister && (
        <Button isPlain onClick={() => setNew(!isNew)}>
          {isNew ? 'Sign in with an existing account' : 'Create account'}
        </Button>
      )}
      {status.oidcEnabled && !isAgain && <Button onClick={goToProvider}>Sign in with single sign-on</Button>}
    </>
  )
}

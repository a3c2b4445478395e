import { useState } from 'react'
import { goToProvider } from '../app/arrival.ts'
import { useLoad } from '../app/load.ts'
import { navigate, useRoute } from '../app/router.ts'
import { client, signInWith, type AuthStatus } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { Await, useTitle } from '../ui/Page.tsx'
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
  const invitation = route.name === 'invitation' ? route.token : undefined
  const [isNew, setNew] = useState(invitation !== undefined)
  const mayRegister = !isAgain && (status.registrationEnabled || invitation !== undefined)
  const afterSignUp = async (token: string, isKept: boolean) => {
    if (invitation !== undefined) navigate({ name: 'home' }, { replace: true })
    await signInWith(token, isKept)
  }
  return (
    <>
      {invitation !== undefined && <p>You are invited to a project. To accept, create an account or sign in.</p>}
      {isNew && mayRegister ? <Register invitation={invitation} onDone={afterSignUp} /> : <Login onDone={signInWith} />}
      {mayRegister && (
        <Button isPlain onClick={() => setNew(!isNew)}>
          {isNew ? 'Sign in with an existing account' : 'Create account'}
        </Button>
      )}
      {status.oidcEnabled && !isAgain && <Button onClick={goToProvider}>Sign in with single sign-on</Button>}
    </>
  )
}

import { useEffect } from 'react'
import { BoardPage } from '../board/BoardPage.tsx'
import { Button } from '../ui/Button.tsx'
import { Confirmation } from '../ui/confirm.tsx'
import { SecretOnce } from '../ui/showSecret.tsx'
import { Boundary, lazyPart } from '../ui/lazyPart.tsx'
import { Page } from '../ui/Page.tsx'
import { Toasts } from '../ui/Toasts.tsx'
import { Tooltips } from '../ui/Tooltips.tsx'
import { showError } from './messages.ts'
import { startOverOnArrival, takeArrival } from './arrival.ts'
import { keepFocus } from './keptFocus.ts'
import { loadProjects } from './projects.ts'
import { hrefOf, useRoute, type Route } from './router.ts'
import { reloadCount, beginSession, session, type Me } from './session.ts'
import { applyTheme, loadSettings } from './settings.ts'
import { Shell } from './Shell.tsx'
import { useStore } from './store.ts'

const opening = { fallback: <Page title="Loading…">{null}</Page> }
const HomePage = lazyPart(() => import('../home/HomePage.tsx'), 'HomePage', opening)
const CardPage = lazyPart(() => import('../card/CardPage.tsx'), 'CardPage', opening)
const AssistantPage = lazyPart(() => import('../assistant/AssistantPage.tsx'), 'AssistantPage', opening)
const ProjectPage = lazyPart(() => import('../project/ProjectPage.tsx'), 'ProjectPage', opening)
const ChartsPage = lazyPart(() => import('../charts/ChartsPage.tsx'), 'ChartsPage', opening)
const AdminPage = lazyPart(() => import('../admin/AdminPage.tsx'), 'AdminPage', opening)
const MePage = lazyPart(() => import('../me/MePage.tsx'), 'MePage', opening)
const InboxUpdates = lazyPart(() => import('../home/InboxUpdates.tsx'), 'InboxUpdates', { isDialog: true })
const SignIn = lazyPart(() => import('../signIn/SignIn.tsx'), 'SignIn')
const SignInAgain = lazyPart<object, 'SignInAgain'>(() => import('../signIn/SignIn.tsx'), 'SignInAgain', {
  isDialog: true,
})
const OtherAccount = lazyPart(() => import('../signIn/OtherAccount.tsx'), 'OtherAccount')
const ConnectPage = lazyPart(() => import('../connect/ConnectPage.tsx'), 'ConnectPage', opening)
const DesignPage = lazyPart(() => import('../design/DesignPage.tsx'), 'DesignPage', opening)
const InvitationPage = lazyPart(() => import('../signIn/InvitationPage.tsx'), 'InvitationPage', opening)

applyTheme()
keepFocus()
startOverOnArrival()
void beginSession(takeArrival)

/** The whole page: the sign-in, or the view that the address names. */
export function App() {
  const now = useStore(session)
  return (
    <>
      {now.name === 'in' && <SignedIn me={now.me} hasEnded={now.hasEnded} />}
      {now.name === 'out' && <SignIn status={now.status} reason={now.reason} />}
      {now.name === 'choosing' && <OtherAccount me={now.me} other={now.other} />}
      {now.name === 'unreachable' && (
        <div className="entry">
          <main>
            <h1>The server does not answer</h1>
            <p>{now.reason}</p>
            <Button isMain onClick={() => beginSession(takeArrival)}>
              Retry
            </Button>
          </main>
        </div>
      )}
      <Confirmation />
      <SecretOnce />
      <Toasts />
      <Tooltips />
    </>
  )
}

function SignedIn({ me, hasEnded }: { me: Me; hasEnded: boolean }) {
  const now = useStore(reloadCount)
  useEffect(() => {
    void loadProjects().catch(showError)
    void loadSettings().catch(() => undefined)
  }, [me.id, now])
  const route = useRoute()
  return (
    <>
      <Shell me={me}>
        <Boundary key={route.name}>
          <Routed route={route} />
        </Boundary>
      </Shell>
      <InboxUpdates />
      {hasEnded && <SignInAgain />}
    </>
  )
}

function Routed({ route }: { route: Route }) {
  switch (route.name) {
    case 'home':
      return <HomePage />
    case 'board':
      return <BoardPage {...route} />
    case 'card':
      return <CardPage key={route.cardId} {...route} />
    case 'project':
      return <ProjectPage {...route} />
    case 'assistant':
      return <AssistantPage key={route.projectId} {...route} />
    case 'charts':
      return <ChartsPage {...route} />
    case 'admin':
      return <AdminPage {...route} />
    case 'me':
      return <MePage {...route} />
    case 'invitation':
      return <InvitationPage {...route} />
    case 'connect':
      return <ConnectPage key={route.request} {...route} />
    case 'design':
      return <DesignPage />
    case 'missing':
      return (
        <Page title="Not found">
          <p>
            This page does not exist. <a href={hrefOf({ name: 'home' })}>Go home</a>
          </p>
        </Page>
      )
  }
}

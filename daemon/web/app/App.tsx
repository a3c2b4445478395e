import { lazy, Suspense, useEffect, type ComponentType } from 'react'
import { BoardPage } from '../board/BoardPage.tsx'
import { Button } from '../ui/Button.tsx'
import { Confirmation } from '../ui/confirm.tsx'
import { Page } from '../ui/Page.tsx'
import { Toasts } from '../ui/Toasts.tsx'
import { complain } from './messages.ts'
import { startOverOnArrival, takeArrival } from './arrival.ts'
import { loadProjects } from './projects.ts'
import { hrefOf, useRoute, type Route } from './router.ts'
import { age, begin, session, type Me } from './session.ts'
import { applyTheme, loadSettings } from './settings.ts'
import { Shell } from './Shell.tsx'
import { useStore } from './store.ts'

/** A page that is loaded when it is opened. */
const lazily = <P extends object, N extends string>(load: () => Promise<Record<N, ComponentType<P>>>, name: N) =>
  lazy(async () => ({ default: (await load())[name] }))

const HomePage = lazily(() => import('../home/HomePage.tsx'), 'HomePage')
const CardPage = lazily(() => import('../card/CardPage.tsx'), 'CardPage')
const AssistantPage = lazily(() => import('../assistant/AssistantPage.tsx'), 'AssistantPage')
const ProjectPage = lazily(() => import('../project/ProjectPage.tsx'), 'ProjectPage')
const ChartsPage = lazily(() => import('../charts/ChartsPage.tsx'), 'ChartsPage')
const AdminPage = lazily(() => import('../admin/AdminPage.tsx'), 'AdminPage')
const MePage = lazily(() => import('../me/MePage.tsx'), 'MePage')
const Attention = lazily(() => import('../home/Attention.tsx'), 'Attention')
const SignIn = lazily(() => import('../signIn/SignIn.tsx'), 'SignIn')
const SignInAgain = lazily<object, 'SignInAgain'>(() => import('../signIn/SignIn.tsx'), 'SignInAgain')
const OtherAccount = lazily(() => import('../signIn/OtherAccount.tsx'), 'OtherAccount')
const InvitationPage = lazily(() => import('../signIn/InvitationPage.tsx'), 'InvitationPage')

applyTheme()
startOverOnArrival()
void begin(takeArrival)

/** The whole page: signing in, or what the address names. */
export function App() {
  const now = useStore(session)
  return (
    <>
      {now.name === 'in' && <SignedIn me={now.me} hasEnded={now.hasEnded} />}
      {now.name === 'out' && (
        <Suspense>
          <SignIn status={now.status} reason={now.reason} />
        </Suspense>
      )}
      {now.name === 'choosing' && (
        <Suspense>
          <OtherAccount me={now.me} other={now.other} />
        </Suspense>
      )}
      {now.name === 'unreachable' && (
        <div className="entry">
          <main>
            <h1>No answer</h1>
            <p>{now.reason}</p>
            <Button isMain onClick={() => begin(takeArrival)}>
              Try again
            </Button>
          </main>
        </div>
      )}
      <Confirmation />
      <Toasts />
    </>
  )
}

function SignedIn({ me, hasEnded }: { me: Me; hasEnded: boolean }) {
  const now = useStore(age)
  useEffect(() => {
    void loadProjects().catch(complain)
    void loadSettings().catch(() => undefined)
  }, [me.id, now])
  const route = useRoute()
  return (
    <>
      <Shell me={me}>
        <Suspense fallback={<Page title="Loading…">{null}</Page>}>
          <Routed route={route} />
        </Suspense>
      </Shell>
      <Suspense>
        <Attention />
      </Suspense>
      {hasEnded && (
        <Suspense>
          <SignInAgain />
        </Suspense>
      )}
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
    case 'missing':
      return (
        <Page title="Nothing here">
          <p>
            No page has this address. <a href={hrefOf({ name: 'home' })}>Go home</a>
          </p>
        </Page>
      )
  }
}

import { useEffect, useState, type ReactNode } from 'react'
import { Button } from '../ui/Button.tsx'
import { Icon, type IconName } from '../ui/Icon.tsx'
import { lazyPart } from '../ui/lazyPart.tsx'
import { Menu } from '../ui/Menu.tsx'
import { listenForPaletteKey, palette } from '../palette/commands.ts'
import { followMine, liveState } from './live.ts'
import { projects } from './projects.ts'
import { hrefOf, navigate, useRoute, type Route } from './router.ts'
import { signOut, type Me } from './session.ts'
import { changeSettings, settings } from './settings.ts'
import { useStore } from './store.ts'
import { tooltip } from '../ui/tooltip.ts'

const NewProjectDialog = lazyPart(() => import('../project/NewProject.tsx'), 'NewProjectDialog', { isDialog: true })
const Palette = lazyPart(() => import('../palette/Palette.tsx'), 'Palette', { isDialog: true })

/** The layout of every page: the top bar and the sidebar of projects. */
export function Shell({ me, children }: { me: Me; children: ReactNode }) {
  const isExpanded = useStore(settings, ({ sidebarExpanded }) => sidebarExpanded)
  const [isOpenOnPhone, setOpenOnPhone] = useState(false)
  const [isMaking, setMaking] = useState(false)
  const isNarrow = useNarrow()
  const route = useRoute()
  const isPaletteOpen = useStore(palette, ({ isOpen }) => isOpen)
  useEffect(() => setOpenOnPhone(false), [route])
  useEffect(listenForPaletteKey, [])
  const isShown = isNarrow ? isOpenOnPhone : isExpanded
  return (
    <div className="shell">
      <a
        className="skip"
        href="#main"
        onClick={event => {
          event.preventDefault()
          document.getElementById('main')?.focus()
        }}
      >
        Skip to content
      </a>
      <header className="bar">
        <Button
          isPlain
          icon="menu"
          label={isShown ? 'Hide projects' : 'Show projects'}
          aria-expanded={isShown}
          aria-controls="sidebar"
          onClick={() => (isNarrow ? setOpenOnPhone(!isShown) : void changeSettings({ sidebarExpanded: !isExpanded }))}
        />
        <a href={hrefOf({ name: 'home' })} className="home-link" aria-label="board, home">
          board
        </a>
        <ProjectSwitcher route={route} />
        <Button
          isPlain
          icon="search"
          label="Search and commands"
          aria-label="Search and commands (Ctrl-K)"
          keys="Ctrl-K"
          onClick={() => palette.set({ isOpen: true })}
        />
        <ConnectionStatus />
        <Account me={me} />
      </header>
      <Sidebar me={me} route={route} isFolded={!isShown} onNew={() => setMaking(true)} />
      {isMaking && <NewProjectDialog onClose={() => setMaking(false)} />}
      <div className="view">{children}</div>
      {isPaletteOpen && <Palette />}
    </div>
  )
}

/** The menu of the current project, with the other projects. */
function ProjectSwitcher({ route }: { route: Route }) {
  const all = useStore(projects)
  const id = 'projectId' in route ? route.projectId : undefined
  const project = all?.find(each => each.id === id)
  if (!project) return <span className="place" />
  const items = () => [
    ...(all ?? []).map(each => ({ label: each.name, run: () => navigate({ name: 'board', projectId: each.id }) })),
    { label: 'Project settings', run: () => navigate({ name: 'project', projectId: project.id }), separator: true },
    { label: 'Charts', run: () => navigate({ name: 'charts', projectId: project.id }) },
  ]
  return (
    <div className="place">
      <Menu label={`Project ${project.name}`} icon="folder" text={project.name} items={items} />
    </div>
  )
}

const narrow = matchMedia('(max-width: 700px)')

/** Whether the window is as narrow as a phone. */
function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(narrow.matches)
  useEffect(() => {
    const change = () => setNarrow(narrow.matches)
    narrow.addEventListener('change', change)
    return () => narrow.removeEventListener('change', change)
  }, [])
  return isNarrow
}

/** Shows when the displayed data might be outdated. */
function ConnectionStatus() {
  const state = useStore(liveState)
  // A page without a followed project also connects, to receive the person's own notifications.
  useEffect(() => followMine(() => undefined), [])
  if (state === 'open') return <span className="connection">live</span>
  return (
    <span className="connection lost" role="status">
      {state === 'connecting' ? 'connecting…' : 'disconnected, retrying…'}
    </span>
  )
}

function Account({ me }: { me: Me }) {
  const name = me.displayName || me.email
  const items = [
    { label: 'Settings', run: () => navigate({ name: 'me' }) },
    { label: 'Documentation', run: () => void window.open('docs', '_blank', 'noopener') },
    { label: 'Keyboard shortcuts', run: () => navigate({ name: 'me', section: 'shortcuts' }) },
    { label: 'Sign out', run: signOut, separator: true },
  ]
  return <Menu label={`Account of ${name}`} icon="person" items={items} />
}

function Sidebar({ me, route, isFolded, onNew }: { me: Me; route: Route; isFolded: boolean; onNew: () => void }) {
  const all = useStore(projects)
  const current = 'projectId' in route ? route.projectId : undefined
  const isAdmin = me.role !== 'user'
  return (
    <nav id="sidebar" className={isFolded ? 'sidebar folded' : 'sidebar'} aria-label="Projects">
      <NavLink to={{ name: 'home' }} icon="home" label="Home" isCurrent={route.name === 'home'} />
      <h2>
        <span>Projects</span>
      </h2>
      {all?.map(({ id, name }) => (
        <NavLink key={id} to={{ name: 'board', projectId: id }} icon="folder" label={name} isCurrent={id === current} />
      ))}
      <button type="button" {...tooltip('New project', { isName: true })} aria-label="New project" onClick={onNew}>
        <Icon name="add" />
        <span>New project</span>
      </button>
      <div className="end">
        {current !== undefined && (
          <>
            <NavLink
              to={{ name: 'assistant', projectId: current }}
              icon="message"
              label="Assistant"
              isCurrent={route.name === 'assistant'}
            />
            <NavLink
              to={{ name: 'charts', projectId: current }}
              icon="chart"
              label="Charts"
              isCurrent={route.name === 'charts'}
            />
            <NavLink
              to={{ name: 'project', projectId: current }}
              icon="edit"
              label="Project settings"
              isCurrent={route.name === 'project'}
            />
          </>
        )}
        {isAdmin && (
          <NavLink to={{ name: 'admin' }} icon="settings" label="Administration" isCurrent={route.name === 'admin'} />
        )}
      </div>
    </nav>
  )
}

const NavLink = ({ to, icon, label, isCurrent }: { to: Route; icon: IconName; label: string; isCurrent: boolean }) => (
  <a
    href={hrefOf(to)}
    {...tooltip(label, { isName: true })}
    aria-label={label}
    aria-current={isCurrent ? 'page' : undefined}
  >
    <Icon name={icon} />
    <span>{label}</span>
  </a>
)

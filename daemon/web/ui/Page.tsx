import { useEffect, type ReactNode } from 'react'
import { reasonOf } from '../app/reasons.ts'
import { inbox } from '../app/inbox.ts'
import type { Loaded } from '../app/load.ts'
import { useStore } from '../app/store.ts'
import { Button } from './Button.tsx'

/** A page with its title, which is also the window title. */
export function Page({ title, tools, children }: { title: string; tools?: ReactNode; children: ReactNode }) {
  useTitle(title)
  return (
    <main className="page" id="main" tabIndex={-1}>
      <header className="page-head">
        <h1>{title}</h1>
        {tools && <div className="tools">{tools}</div>}
      </header>
      {children}
    </main>
  )
}

/** Sets the title of the window, with the number of unread items in the inbox. */
export function useTitle(title: string): void {
  const count = useStore(inbox, known => known?.unread ?? 0)
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ''}${title === '' ? 'board' : `${title} · board`}`
  }, [title, count])
}

/** Renders a loaded value. Until then, shows the loading state, or the error and a retry button. */
export function Await<T>({ of, children }: { of: Loaded<T>; children: (value: T) => ReactNode }) {
  if (of.value !== undefined) return children(of.value)
  if (of.error === undefined) return <p className="loading">Loading…</p>
  return <Failure error={of.error} onRetry={of.reload} />
}

/** The reason why content is missing, and a retry button if a retry can help. */
export const Failure = ({
  error,
  onRetry,
  children,
}: {
  error: unknown
  onRetry?: () => unknown
  children?: ReactNode
}) => (
  <div className="notice failure" role="alert">
    <p>{reasonOf(error)}</p>
    {onRetry && <Button onClick={async () => onRetry()}>Retry</Button>}
    {children}
  </div>
)

import { Component, lazy, Suspense, useState, type ComponentType, type ReactNode } from 'react'
import { Button } from './Button.tsx'
import { Failure } from './Page.tsx'

interface LazyOptions {
  /** The placeholder until the part is loaded. */
  fallback?: ReactNode
  /** Whether the part is a dialog above the page. Its error is then also a dialog. */
  isDialog?: boolean
}

/**
 * Creates a part of the page whose code is loaded when it first renders. If loading fails, the part shows the error
 * and a retry button. The rest of the page, including typed text, is unaffected.
 * @param name - the export name of the part
 */
export function lazyPart<P extends object, N extends string>(
  load: () => Promise<Record<N, ComponentType<P>>>,
  name: N,
  { fallback, isDialog }: LazyOptions = {},
): ComponentType<P> {
  const lazyComponent = (): ComponentType<P> =>
    lazy<ComponentType<P>>(async () => {
      const module = await load().catch((cause: unknown) => {
        throw new Error(
          'This part of the page could not be loaded. The server did not answer, or it has a newer version of the page.',
          {
            cause,
          },
        )
      })
      return { default: module[name] }
    })
  let Loaded = lazyComponent()
  return function LazyPart(props: P) {
    // A failed import stays failed: a retry needs another component.
    const [, setTries] = useState(0)
    const onRetry = () => {
      Loaded = lazyComponent()
      setTries(tries => tries + 1)
    }
    return (
      <Boundary onRetry={onRetry} isDialog={isDialog}>
        <Suspense fallback={fallback}>
          <Loaded {...props} />
        </Suspense>
      </Boundary>
    )
  }
}

interface BoundaryProps {
  children: ReactNode
  /** Prepares a retry before the part renders again. */
  onRetry?: () => void
  isDialog?: boolean
}

/** Renders a part of the page. If rendering fails, shows the error in its place. */
export class Boundary extends Component<BoundaryProps, { failure?: { error: unknown } }> {
  override state: { failure?: { error: unknown } } = {}

  static getDerivedStateFromError(error: unknown) {
    return { failure: { error } }
  }

  override render() {
    const { failure } = this.state
    if (!failure) return this.props.children
    const onRetry = () => {
      this.props.onRetry?.()
      this.setState({ failure: undefined })
    }
    return (
      <div className={this.props.isDialog ? 'failed-part above' : 'failed-part'}>
        <Failure error={failure.error} onRetry={onRetry}>
          <Button onClick={() => location.reload()}>Reload the page</Button>
        </Failure>
      </div>
    )
  }
}

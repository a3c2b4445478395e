import { Store, useStore } from '../app/store.ts'
import { lazyPart } from './lazyPart.tsx'
import type { ShownSecret } from './Secret.tsx'

const SecretDialog = lazyPart(() => import('./Secret.tsx'), 'SecretDialog', { isDialog: true })

const secret = new Store<ShownSecret | undefined>(undefined)

/** Shows a secret that the server returns only once. */
export const showSecret = (shown: ShownSecret): void => secret.set(shown)

/** Shows the secret, once in the page. */
export function SecretOnce() {
  const shown = useStore(secret)
  return shown && <SecretDialog {...shown} onClose={() => secret.set(undefined)} />
}

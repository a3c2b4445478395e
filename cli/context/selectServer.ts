import { readFileSync } from 'node:fs'
import { dataFolder, runtimeFile, type Runtime } from '../../src/config/paths.ts'
import { Failure, usage } from '../failures/failure.ts'
import type { Globals } from '../parsing/globals.ts'
import { readSettings, type Profile, type Settings } from './profiles.ts'
import { nearestWords } from '../output/text.ts'
import { unreadableFile } from '../failures/unreadableFile.ts'

/** A value and its source, for `board auth status`. */
interface Found {
  value: string
  from: string
}

/** The source of a value from daemon.json. */
export const fromRuntime = 'the running server on this machine'

/** The selected server, token and project, and the source of each. */
export interface Discovery {
  profile: Found | undefined
  url: Found | undefined
  token: Found | undefined
  project: Found | undefined
  /** The contents of daemon.json, if its URL is selected. Whether that server is alive has not been checked. */
  local: Runtime | undefined
  /** The certificate of the local server, if its origin is selected. */
  certificate: string | undefined
}

/**
 * Selects the server: flags, then the environment, then the current profile, then the local server. A profile's token is
 * sent only to its own origin, and the local token only to the local server.
 */
export function discoverServer(
  globals: Globals,
  env: NodeJS.ProcessEnv = process.env,
  settings: Settings = readSettings(),
): Discovery {
  const named = foundIn(globals.profile, '--profile') ?? foundIn(env.BOARD_PROFILE, 'BOARD_PROFILE')
  const profileName = named ?? foundIn(settings.current, 'the profile in use')
  const profile = profileName && profileOf(settings, profileName, named !== undefined)
  const fromProfile = `profile ${profileName?.value}`
  const runtime = readRuntime(env)
  const first = globals.profile !== undefined
  const url =
    foundIn(globals.url, '--url') ??
    prefer(first, foundIn(profile?.url, fromProfile), foundIn(env.BOARD_URL, 'BOARD_URL')) ??
    foundIn(runtime?.url, fromRuntime)
  const target = url && originOf(url.value)
  return {
    profile: profileName,
    url: url && { ...url, value: requireOrigin(url) },
    token: url && tokenFor(target, { globals, env, profile, fromProfile, first, runtime }),
    project:
      foundIn(globals.project, '--project') ??
      prefer(first, foundIn(profile?.project, fromProfile), foundIn(env.BOARD_PROJECT, 'BOARD_PROJECT')),
    local: runtime && url?.value === runtime.url && url.from === fromRuntime ? runtime : undefined,
    certificate: runtime && originOf(runtime.url) === target ? runtime.certificate : undefined,
  }
}

/**
 * Reads the daemon.json of this account's server. Returns undefined if there is none. Does not check whether the
 * server is alive.
 */
export function readRuntime(env: NodeJS.ProcessEnv = process.env): Runtime | undefined {
  try {
    const runtime = JSON.parse(readFileSync(runtimeFile(dataFolder(env)), 'utf8')) as Runtime
    return typeof runtime.url === 'string' && typeof runtime.token === 'string' ? runtime : undefined
  } catch {
    return undefined
  }
}

/** The origin of a URL, or undefined. */
export function originOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined
}

interface TokenPlaces {
  globals: Globals
  env: NodeJS.ProcessEnv
  profile: Profile | undefined
  fromProfile: string
  first: boolean
  runtime: Runtime | undefined
}

function tokenFor(
  target: string | undefined,
  { globals, env, profile, fromProfile, first, runtime }: TokenPlaces,
): Found | undefined {
  const bound =
    profile?.token !== undefined && profile.tokenOrigin === target ? tokenOf(profile.token, fromProfile) : undefined
  return (
    fromFile(globals.tokenFile, '--token-file') ??
    prefer(
      first,
      bound,
      tokenOf(env.BOARD_TOKEN, 'BOARD_TOKEN') ?? fromFile(env.BOARD_TOKEN_FILE, 'BOARD_TOKEN_FILE'),
    ) ??
    (runtime && originOf(runtime.url) === target ? foundIn(runtime.token, fromRuntime) : undefined)
  )
}

/** The environment overrides the profile, unless a flag selects the profile. */
const prefer = (profileFirst: boolean, profile: Found | undefined, environment: Found | undefined): Found | undefined =>
  profileFirst ? (profile ?? environment) : (environment ?? profile)

const foundIn = (value: string | undefined, from: string): Found | undefined =>
  value === undefined || value === '' ? undefined : { value, from }

/** Returns a configured token without surrounding whitespace. @throws Failure (usage) if it is not one word */
function tokenOf(value: string | undefined, from: string): Found | undefined {
  const token = value?.trim()
  if (token !== undefined && /[^\x21-\x7e]/.test(token))
    throw usage(`the token of ${from} is not one word: it contains a space, a line break or an invalid character`, {
      hint: 'a token starts with svc_ak_; create a new one with: board keys create',
      see: 'board help environment',
    })
  return foundIn(token, from)
}

function fromFile(path: string | undefined, from: string): Found | undefined {
  if (!path) return undefined
  let text: string
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (error) {
    throw unreadableFile(`the file of ${from}`, error, { see: 'board help environment' })
  }
  const token = tokenOf(text, `the file of ${from}`)
  if (token) return { ...token, from }
  throw usage(`the file of ${from} contains no token`, { see: 'board help environment' })
}

function profileOf(settings: Settings, name: Found, strict: boolean): Profile | undefined {
  const profile = Object.hasOwn(settings.profiles ?? {}, name.value) ? settings.profiles![name.value] : undefined
  if (profile || !strict) return profile
  const meant = nearestWords(name.value, Object.keys(settings.profiles ?? {}))
  throw new Failure('notFound', `there is no profile "${name.value}" (${name.from})`, {
    hint: meant.length > 0 ? `did you mean: ${meant.join(', ')}` : undefined,
    see: 'board profile list',
  })
}

function requireOrigin({ value, from }: Found): string {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.username || url.password) {
    throw usage(`the address of ${from} must be an http or https URL without a password: ${value}`, {
      hint: 'for example http://127.0.0.1:4400',
    })
  }
  return url.origin + url.pathname.replace(/\/$/, '')
}

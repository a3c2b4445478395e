/** The page that a browser shows after redirects: the last response, and its URL. */
export interface Shown {
  url: string
  status: number
  headers: Headers
  body: string
  setCookies: string[]
}
export interface Steps {
  /** Can change the URL of each redirect before it is followed. */
  change?: (url: URL) => void
  /** Does not follow a redirect to such a URL, and returns the redirecting response. */
  stopAt?: (url: URL) => boolean
  headers?: Record<string, string>
}

/** A browser without a window: it keeps cookies by host and path as browsers do, follows redirects and fills in the forms of `oidc-provider`. */
export class Browser {
  readonly #cookies: Array<{ host: string; path: string; name: string; value: string }> = []

  /** Opens a page and signs in as this subject whenever the provider asks. */
  async signIn(url: string, subject: string, steps: Steps = {}): Promise<Shown> {
    let shown = await this.open(url, steps)
    for (let forms = 0; forms < 5; forms++) {
      const form = /<form[^>]*action="([^"]+)"[\s\S]*?name="prompt" value="(\w+)"/.exec(shown.body)
      if (!form) return shown
      shown = await this.open(
        new URL(form[1]!, shown.url).href,
        steps,
        new URLSearchParams({ prompt: form[2]!, login: subject, password: 'x' }),
      )
    }
    throw new Error(`The provider did not stop asking at ${shown.url}`)
  }

  /** Opens a page, or posts a form to it. */
  async open(start: string, { change, stopAt, headers = {} }: Steps = {}, form?: URLSearchParams): Promise<Shown> {
    let url = new URL(start)
    for (let hops = 0; hops < 20; hops++) {
      const reply = await fetch(url, {
        method: form ? 'POST' : 'GET',
        body: form,
        redirect: 'manual',
        headers: { accept: 'text/html,*/*', cookie: this.cookiesFor(url), ...headers },
      })
      form = undefined
      const setCookies = reply.headers.getSetCookie()
      for (const text of setCookies) this.#keep(url, text)
      const shown = {
        url: url.href,
        status: reply.status,
        headers: reply.headers,
        body: await reply.text(),
        setCookies,
      }
      const location = reply.headers.get('location')
      if (location === null) return shown
      const next = new URL(location, url)
      change?.(next)
      if (stopAt?.(next)) return { ...shown, url: next.href }
      url = next
    }
    throw new Error(`Too many redirects from ${start}`)
  }

  /** The Cookie header of a request for a page. */
  cookiesFor({ hostname, pathname }: URL): string {
    return this.#cookies
      .filter(
        ({ host, path }) =>
          host === hostname && (pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`)),
      )
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ')
  }

  #keep({ hostname: host, pathname }: URL, text: string): void {
    const [pair, ...attributes] = text.split(/; */)
    const at = pair!.indexOf('=')
    const read = (name: string) =>
      attributes.find(each => each.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1)
    const cookie = {
      host,
      path: read('path') ?? pathname.slice(0, pathname.lastIndexOf('/') || 1),
      name: pair!.slice(0, at),
      value: pair!.slice(at + 1),
    }
    const old = this.#cookies.findIndex(
      each => each.host === host && each.path === cookie.path && each.name === cookie.name,
    )
    if (old >= 0) this.#cookies.splice(old, 1)
    const isOver = read('max-age') === '0' || Date.parse(read('expires') ?? '') < Date.now()
    if (!isOver) this.#cookies.push(cookie)
  }
}

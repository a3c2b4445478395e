/** A notification for the person from the server. */
export interface ReceivedNotification {
  projectId: string
  /** Null for a notification about a schedule. */
  cardId: string | null
  cardTitle: string
  message: string
  desktop: boolean
  sound: boolean
}

/** Whether the browser shows notifications of this page. `unsupported` if it never does, for example without HTTPS. */
export const notificationPermission = (): NotificationPermission | 'unsupported' =>
  'Notification' in window && window.isSecureContext ? Notification.permission : 'unsupported'

/** Shows a notification in the browser if the person has enabled and allowed that, and plays a sound if enabled. */
export function notify(
  { projectId, cardId, cardTitle, message, desktop, sound }: ReceivedNotification,
  open: () => void,
): void {
  if (sound) playSound()
  if (!desktop || notificationPermission() !== 'granted') return
  // Several tabs report the same notification. With a tag, the browser shows it once.
  const shown = new Notification(cardTitle, {
    body: message,
    tag: cardId === null ? `schedule ${projectId} ${cardTitle}` : `card ${cardId}`,
  })
  shown.addEventListener('click', () => {
    window.focus()
    open()
    shown.close()
  })
}

/** Plays two short tones. Browsers play them only after the person has interacted with the page. */
export function playSound(): void {
  const context = new AudioContext()
  const volume = context.createGain()
  volume.gain.value = 0.06
  volume.connect(context.destination)
  for (const [at, hertz] of [660, 880].entries()) {
    const tone = context.createOscillator()
    tone.frequency.value = hertz
    tone.connect(volume)
    tone.start(context.currentTime + at * 0.14)
    tone.stop(context.currentTime + at * 0.14 + 0.12)
    if (at === 1) tone.addEventListener('ended', () => void context.close())
  }
}

/** Paths of 16 by 16, drawn with a stroke. */
const paths = {
  add: 'M8 3v10M3 8h10',
  agent: 'M5 6h6v6H5zM8 3v3M3 8v2M13 8v2M7 9h.01M9 9h.01',
  archive: 'M2.5 4h11v3h-11zM3.5 7v6h9V7M6.5 9.5h3',
  attach: 'M11 5 6.5 9.5a1.4 1.4 0 0 0 2 2L13 7a2.8 2.8 0 0 0-4-4L4.500 7.500a4.200 4.200 0 0 0 6 6l3-3',
  back: 'M10 3 5 8l5 5',
  bell: 'M4 11V7a4 4 0 0 1 8 0v4l1 1.500H3zM7 14h2',
  branch:
    'M5 3v10M5 10c5 0 6-2 6-4.500M5 4.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3M5 14.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3M11 5.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3',
  calendar: 'M2.500 4h11v9.500h-11zM2.500 7h11M5.500 2.500v3M10.500 2.500v3',
  chart: 'M2.500 13.500h11M4.500 11V7M8 11V3M11.500 11V5.500',
  check: 'm3 8.500 3.500 3.500L13 4.500',
  close: 'm4 4 8 8M12 4l-8 8',
  down: 'm4 6 4 4 4-4',
  edit: 'M3 13h2.500L13 5.500 10.500 3 3 10.500z',
  expand: 'M9.500 3H13v3.500M13 3 9 7M6.500 13H3V9.500M3 13l4-4',
  external: 'M6 4H3.500v8.500H12V10M9 3h4v4M13 3 7.500 8.500',
  eye: 'M1.500 8S4 3.500 8 3.500 14.500 8 14.500 8 12 12.500 8 12.500 1.500 8 1.500 8M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4',
  file: 'M4 2h5l3 3v9H4zM9 2v3h3',
  filter: 'M2 3.500h12L9.500 9v4.500l-3-1.500V9z',
  folder: 'M2 4h4l1.500 2H14v7H2z',
  home: 'M2.500 7.500 8 3l5.500 4.500V13h-4V9.500h-3V13h-4z',
  key: 'M10 6.500a2.500 2.500 0 1 0-2.300 2.500L9 10.500h1.500V12H12v1.500h2V12L9.700 7.700',
  label: 'M2.500 3h5l6 6-4.500 4.500-6-6zM5 5.500h.01',
  left: 'M10 3 5 8l5 5',
  lock: 'M4 7.500h8V13H4zM5.500 7.500V5.500a2.500 2.500 0 0 1 5 0v2',
  menu: 'M2.500 4.500h11M2.500 8h11M2.500 11.500h11',
  message: 'M2.500 3h11v8h-6l-3 2.500V11h-2z',
  more: 'M3.500 8h.01M8 8h.01M12.500 8h.01',
  person: 'M8 8a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5M3 13.500c.500-3 2.500-4 5-4s4.500 1 5 4',
  right: 'm6 3 5 5-5 5',
  run: 'M4.500 3v10l8-5z',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10M10.500 10.500 14 14',
  settings:
    'M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4M8 1.500v2M8 12.500v2M1.500 8h2M12.500 8h2M3.400 3.400l1.400 1.400M11.200 11.200l1.400 1.400M3.400 12.600l1.400-1.400M11.200 4.800l1.400-1.400',
  stop: 'M4 4h8v8H4z',
  trash: 'M3 4.500h10M6 4.500V3h4v1.500M4.500 4.500l.5 9h6l.5-9',
  undo: 'M5.500 3 2.500 6l3 3M2.500 6H10a3.500 3.500 0 0 1 0 7H6',
  up: 'm4 10 4-4 4 4',
  warning: 'M8 2 1.500 13.500h13zM8 6.500v3M8 11.500h.01',
} as const

export type IconName = keyof typeof paths

/** A small icon next to text, or in a button with an accessible name. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg className="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
)

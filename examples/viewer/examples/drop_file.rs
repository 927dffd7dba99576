//! Drops a file on a window, as a file manager does: for `drive`, since no tool at hand can. It speaks XDND, the protocol
//! of drag and drop between X11 programs, as the source.
//!
//! `drop_file WINDOW FILE`, the window as a decimal number

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [window, file] = arguments.as_slice() else { return Err("usage: drop_file WINDOW FILE".into()) };
    xdnd::drop(window.parse()?, &std::fs::canonicalize(file)?)
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("there is no X11 here");
}

#[cfg(target_os = "linux")]
mod xdnd {
    use std::path::Path;
    use std::time::{Duration, Instant};
    use x11rb::connection::Connection;
    use x11rb::protocol::Event;
    use x11rb::protocol::xproto::{
        AtomEnum, ClientMessageEvent, ConnectionExt, CreateWindowAux, EventMask, PropMode, SELECTION_NOTIFY_EVENT,
        SelectionNotifyEvent, SelectionRequestEvent, Timestamp, WindowClass,
    };
    use x11rb::rust_connection::RustConnection;
    use x11rb::wrapper::ConnectionExt as _;
    use x11rb::{COPY_DEPTH_FROM_PARENT, COPY_FROM_PARENT, CURRENT_TIME};

    type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

    x11rb::atom_manager! {
        Atoms: AtomsCookie {
            XdndAware, XdndSelection, XdndEnter, XdndPosition, XdndStatus, XdndDrop, XdndFinished, XdndActionCopy,
            list: b"text/uri-list",
        }
    }

    /// The version of the protocol that is spoken.
    const VERSION: u32 = 5;

    struct Source {
        connection: RustConnection,
        window: u32,
        content: Vec<u8>,
    }

    /// Enters the window, moves, drops, and waits until the window has taken the file.
    pub fn drop(window: u32, file: &Path) -> Result<()> {
        let (connection, screen) = x11rb::connect(None)?;
        let root = connection.setup().roots.get(screen).ok_or("no screen")?.root;
        let atoms = Atoms::new(&connection)?.reply()?;
        let aware = connection.get_property(false, window, atoms.XdndAware, AtomEnum::ATOM, 0, 1)?.reply()?;
        if aware.value_len == 0 {
            return Err("the window takes no drops".into());
        }
        let own = connection.generate_id()?;
        let values = CreateWindowAux::new();
        let class = WindowClass::INPUT_OUTPUT;
        connection.create_window(COPY_DEPTH_FROM_PARENT, own, root, 0, 0, 1, 1, 0, class, COPY_FROM_PARENT, &values)?;
        connection.set_selection_owner(own, atoms.XdndSelection, CURRENT_TIME)?;
        let content = format!("file://{}\r\n", file.display()).into_bytes();
        let source = Source { connection, window, content };

        source.tell(atoms.XdndEnter, [own, VERSION << 24, atoms.list, 0, 0])?;
        source.tell(atoms.XdndPosition, [own, 0, 100 << 16 | 100, CURRENT_TIME, atoms.XdndActionCopy])?;
        let [_, accepted, ..] = source.answer(atoms.XdndStatus)?;
        if accepted & 1 == 0 {
            return Err("the window refused the file".into());
        }
        source.tell(atoms.XdndDrop, [own, 0, CURRENT_TIME, 0, 0])?;
        source.answer(atoms.XdndFinished)?;
        Ok(())
    }

    impl Source {
        fn tell(&self, kind: u32, data: [u32; 5]) -> Result<()> {
            let message = ClientMessageEvent::new(32, self.window, kind, data);
            self.connection.send_event(false, self.window, EventMask::NO_EVENT, message)?;
            self.connection.flush()?;
            Ok(())
        }

        /// Waits for a message of the window's, and gives it the file's name when it asks meanwhile.
        fn answer(&self, kind: u32) -> Result<[u32; 5]> {
            let until = Instant::now() + Duration::from_secs(20);
            while Instant::now() < until {
                match self.connection.poll_for_event()? {
                    Some(Event::ClientMessage(message)) if message.type_ == kind => {
                        return Ok(message.data.as_data32());
                    }
                    Some(Event::SelectionRequest(request)) => self.hand_over(&request)?,
                    Some(_) => {}
                    None => std::thread::sleep(Duration::from_millis(5)),
                }
            }
            Err("the window does not answer".into())
        }

        fn hand_over(&self, request: &SelectionRequestEvent) -> Result<()> {
            let SelectionRequestEvent { requestor, property, target, selection, .. } = *request;
            self.connection.change_property8(PropMode::REPLACE, requestor, property, target, &self.content)?;
            let time: Timestamp = request.time;
            let response_type = SELECTION_NOTIFY_EVENT;
            let notice =
                SelectionNotifyEvent { response_type, sequence: 0, time, requestor, selection, target, property };
            self.connection.send_event(false, requestor, EventMask::NO_EVENT, notice)?;
            self.connection.flush()?;
            Ok(())
        }
    }
}

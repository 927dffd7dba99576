//! The command line program `cyanotype`. All of it is in `cli`, the only place that knows a terminal.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
